// PipelineFixture: one pipeline on the memory store and the fake broker, virtual time, with a sink that
// answers as told.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "drip/pipeline.h"
#include "store/memory/stores.h"
#include "support/fake_broker.h"
#include "support/virtual_time.h"

namespace dripgate::drip {

using testing::kT0;

struct Delivered {
  std::string id;
  broker::Message message;
  WallTime at;
};

/// Answers what `answers` says, in turn, then confirms.
class ScriptedSink final : public broker::Sink {
 public:
  explicit ScriptedSink(Clock& clock) : clock_(clock) {}
  void deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) override {
    if (clock_.now() >= outgoing.valid_until) return done({broker::SinkVerdict::expired, {}, ""});
    delivered.push_back(
        {*broker::find(outgoing.message.attributes, "dripgate-id"), outgoing.message, clock_.now()});
    if (hold) {
      held.push_back(std::move(done));
      return;
    }
    broker::SinkAnswer answer;
    if (!answers.empty()) {
      answer = answers.front();
      answers.pop_front();
    }
    done(answer);
  }
  std::vector<Delivered> delivered;
  std::deque<broker::SinkAnswer> answers;
  bool hold = false;
  std::vector<std::move_only_function<void(broker::SinkAnswer)>> held;

 private:
  Clock& clock_;
};

/// Dead letters that can be down.
class SwitchedLetters final : public broker::DeadLetters {
 public:
  explicit SwitchedLetters(broker::DeadLetters& inner) : inner_(inner) {}
  void add(broker::DeadLetter letter, Done<void> done) override {
    ++adds;
    if (down) return done(fail(ErrorCode::unavailable, "the dead letters are down", true));
    inner_.add(std::move(letter), std::move(done));
  }
  void list(std::uint64_t after, std::size_t count, Done<broker::DeadLetterPage> done) override {
    if (down) return done(fail(ErrorCode::unavailable, "the dead letters are down", true));
    inner_.list(after, count, std::move(done));
  }
  void find(std::uint64_t sequence, Done<std::optional<broker::DeadLetter>> done) override {
    inner_.find(sequence, std::move(done));
  }
  void remove(std::uint64_t sequence, Done<bool> done) override { inner_.remove(sequence, std::move(done)); }
  void purge(WallTime before, Done<std::uint64_t> done) override { inner_.purge(before, std::move(done)); }
  bool down = false;
  int adds = 0;

 private:
  broker::DeadLetters& inner_;
};

class Watcher final : public Observer {
 public:
  void on_verdict(const core::Stream&, const EventVerdict& verdict) override { verdicts.push_back(verdict); }
  void on_release(const core::Stream&, std::string_view, std::string_view id, WallTime at,
                  Duration late) override {
    releases.emplace_back(id, at);
    latest = std::max(latest, late);
  }
  void on_rebook(const core::Stream&, std::string_view, WallTime) override { ++rebooks; }
  std::vector<EventVerdict> verdicts;
  std::vector<std::pair<std::string, WallTime>> releases;
  Duration latest{};
  int rebooks = 0;
};

class PipelineFixture : public ::testing::Test {
 protected:
  PipelineFixture() { set_limit(2, 60s); }
  ~PipelineFixture() override { executor.clear(); }

  void set_limit(core::Units units, Duration window) {
    auto changed = std::make_shared<core::BookingPolicy>();
    changed->limits = {{.algorithm = core::Algorithm::fixed_window,
                        .limit = units,
                        .window = window,
                        .capacity = units,
                        .zone = {}}};
    changed->spread = core::Spread::start;
    changed->max_delay = max_delay;
    stream->booking = std::move(changed);
  }

  virtual std::unique_ptr<broker::Timer> make_timer() { return broker.timer("s"); }
  virtual Ports ports() {
    return {.executor = executor,
            .clock = clock,
            .store = *store,
            .source = *source,
            .overflow = *overflow,
            .overflow_source = *overflow_source,
            .timer = *timer,
            .dead_letters = *letters,
            .sink = *front,
            .flow = flow};
  }

  void start() {
    source = broker.source("in");
    overflow = broker.publisher("over");
    overflow_source = broker.source("over");
    timer = make_timer();
    real_letters = broker.dead_letters("dead");
    letters = std::make_unique<SwitchedLetters>(*real_letters);
    pipeline = std::make_unique<Pipeline>([this] { return std::make_shared<const core::Stream>(*stream); },
                                          ports(), watcher);
    pipeline->start();
  }
  void kill() {
    executor.clear();
    pipeline.reset();
    letters.reset();
    source.reset();
    overflow_source.reset();
    timer.reset();
  }

  void publish(const std::string& id, const std::string& key = "k", std::string body = {}) {
    if (body.empty()) body = R"({"id":")" + id + R"(","key":")" + key + R"(","n":2500.00})";
    broker.publisher("in")->publish(
        {.id = "m-" + id, .body = std::move(body), .attributes = {{"traceparent", "00-1"}}, .published = {}},
        [](Result<void>) {});
  }
  [[nodiscard]] std::vector<broker::DeadLetter> dead() {
    std::vector<broker::DeadLetter> all;
    for (const auto& [sequence, letter] : broker.letters("dead").letters) all.push_back(letter);
    return all;
  }
  [[nodiscard]] PipelineStatus status() {
    PipelineStatus seen;
    pipeline->status([&](Result<PipelineStatus> answer) { seen = answer.value(); });
    return seen;
  }
  [[nodiscard]] std::string header(std::size_t delivery, std::string_view name) {
    const std::string* value = broker::find(sink.delivered.at(delivery).message.attributes, name);
    return value != nullptr ? *value : "(none)";
  }
  [[nodiscard]] std::size_t waiting() {
    return broker.topic("in").messages.size() + broker.topic("over").messages.size() +
           broker.timers("s").entries.size();
  }

  testing::VirtualClock clock;
  testing::SimExecutor executor{clock};
  testing::FakeBroker broker{executor, clock};
  std::unique_ptr<store::BookingStore> store = store::make_memory_booking_store(clock, 100'000);
  Duration max_delay = 2h;
  std::shared_ptr<core::Stream> stream =
      std::make_shared<core::Stream>(core::Stream{.id = "s",
                                                  .key = core::KeyTemplate::parse("{key}").value(),
                                                  .event_id = core::KeyTemplate::parse("{id}").value(),
                                                  .cost = {},
                                                  .booking = {},
                                                  .overflow_topic = "over",
                                                  .dead_letter_topic = "dead"});
  broker::FlowControl flow;
  Watcher watcher;
  ScriptedSink sink{clock};
  broker::Sink* front = &sink;  // what the pipeline delivers to
  std::unique_ptr<broker::EventSource> source;
  std::unique_ptr<broker::Publisher> overflow;
  std::unique_ptr<broker::EventSource> overflow_source;
  std::unique_ptr<broker::Timer> timer;
  std::unique_ptr<broker::DeadLetters> real_letters;
  std::unique_ptr<SwitchedLetters> letters;
  std::unique_ptr<Pipeline> pipeline;
};

}  // namespace dripgate::drip
