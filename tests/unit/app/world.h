// A process without HTTP: loop, engine and service over a real file, with a sink that remembers. The test's
// thread asks and waits; everything else runs on the loop.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/drip_watch.h"
#include "app/embedded_engine.h"
#include "app/ingest.h"
#include "app/service.h"
#include "runtime/real_clock.h"
#include "support/scratch_folder.h"

namespace dripgate::app {

inline constexpr auto kPatience = std::chrono::seconds{30};

template <class T>
class Answer {
 public:
  Done<T> done() {
    return [promise = promise_](Result<T> result) { promise->set_value(std::move(result)); };
  }
  Result<T> get() {
    auto future = promise_->get_future();
    if (future.wait_for(kPatience) != std::future_status::ready)
      return fail(ErrorCode::timed_out, "no answer");
    return future.get();
  }

 private:
  std::shared_ptr<std::promise<Result<T>>> promise_ = std::make_shared<std::promise<Result<T>>>();
};

/// Confirms every delivery in a later task, as HTTP does; or keeps the answers back.
class RememberingSink final : public broker::Sink {
 public:
  explicit RememberingSink(runtime::Loop& loop) : loop_(loop) {}
  void deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) override {
    const std::string* id = broker::find(outgoing.message.attributes, "dripgate-id");
    ids.push_back(id == nullptr ? "" : *id);
    if (silent) return;
    loop_.post([done = std::move(done)]() mutable { done({}); });
  }
  std::vector<std::string> ids;  // on the loop
  bool silent = false;

 private:
  runtime::Loop& loop_;
};

inline constexpr const char* kYaml = R"(
store: { sqlite: ./app.db }
streams:
  - id: payouts
    source: { embedded: payouts }
    eventId: "{payoutId}"
    key: "merchant_{merchant_id}:payout"
    limits: [ { limit: 2, window: 1h } ]
    maxDelay: 10h
    deliver: { http: "http://127.0.0.1:9/payouts" }
    overflowTopic: payouts-overflow
    deadLetterTopic: payouts-dlq
server: { listen: "127.0.0.1:0" }
)";

class World {
 public:
  explicit World(const std::string& yaml = kYaml)
      : snapshot_(load(yaml)),
        log_({.json = false, .level = obs::Level::error, .write = [](std::string_view) {}}),
        watch_(metrics_, log_,
               [this](const std::string& stream, const drip::EventVerdict& verdict) {
                 board.verdict(stream, verdict, engine);
               }),
        sink(loop),
        engine({.loop = loop,
                .clock = clock,
                .snapshot = snapshot_,
                .observer = watch_,
                .health = health,
                .log = log_,
                .http_sink = [this](const std::string&) -> broker::Sink* { return &sink; }}),
        ingest_(loop, clock, engine, board),
        service(loop, clock, engine, ingest_, health, {"payouts"}) {}
  ~World() { loop.stop(); }

  Result<void> open() { return engine.open(); }
  void start() {
    loop.start([this] { engine.end_turn(); });
    loop.run([this] { engine.start(); });
  }

  Result<std::vector<server::IngestAnswer>> ingest(std::vector<server::IngestEvent> events) {
    Answer<std::vector<server::IngestAnswer>> answer;
    service.ingest("payouts", std::move(events), answer.done());
    return answer.get();
  }
  /// The answer to one event; a failed test when the call was refused.
  server::IngestAnswer ingest_one(const std::string& body, const std::string& id = "") {
    auto answers = ingest({{.id = id, .body = body, .attributes = {}}});
    if (!answers || answers->size() != 1) {
      ADD_FAILURE() << (answers ? "not one answer" : answers.error().detail);
      return {};
    }
    return std::move(answers->front());
  }
  std::vector<std::string> delivered() {
    std::vector<std::string> ids;
    loop.run([&] { ids = sink.ids; });
    return ids;
  }
  template <class Condition>
  bool eventually(Condition holds) {
    for (const MonoTime end = runtime::mono_now() + kPatience; runtime::mono_now() < end;) {
      if (holds()) return true;
      std::promise<void> later;
      loop.post_after_real(std::chrono::milliseconds{2}, [&] { later.set_value(); });
      later.get_future().wait();
    }
    return false;
  }

  testing::ScratchFolder folder;

 private:
  config::ConfigPtr load(const std::string& yaml) {
    auto loaded = config::parse(yaml, folder.path("dripgate.yaml"));
    for (const auto& problem : loaded.problems) EXPECT_TRUE(problem.warning) << to_string(problem);
    return std::make_shared<const config::Config>(std::move(loaded.config.value()));
  }

  config::Snapshot snapshot_;
  obs::Log log_;
  obs::Metrics metrics_;
  DripWatch watch_;

 public:
  runtime::RealClock clock;
  Health health;
  VerdictBoard board;
  runtime::Loop loop;
  RememberingSink sink;
  EmbeddedEngine engine;

 private:
  Ingest ingest_;

 public:
  Service service;
};

}  // namespace dripgate::app
