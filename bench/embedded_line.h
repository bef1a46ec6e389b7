// One stream of the embedded drip in this thread: the product's own StreamLine over a SQLite file, with a
// topic as its sink, and turns that the bench drives itself. Used by embedded_drip, burst_memory and
// in_limit_latency.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "app/embedded_engine.h"
#include "config/config.h"
#include "runtime/real_clock.h"
#include "store/sqlite/stores.h"

namespace dripgate::bench {

/// Tasks that the bench runs by hand.
class HandExecutor final : public Executor {
 public:
  void post(Task task) override { ready_.push_back(std::move(task)); }
  void post_after(Duration delay, Task task) override {
    later_.emplace(runtime::mono_now() + delay, std::move(task));
  }
  /// Runs up to kTurnTasksMax tasks; how many.
  std::size_t run_turn() {
    while (!later_.empty() && later_.begin()->first <= runtime::mono_now()) {
      ready_.push_back(std::move(later_.extract(later_.begin()).mapped()));
    }
    std::size_t ran = 0;
    for (; ran < kTurnTasksMax && !ready_.empty(); ++ran) {
      Task task = std::move(ready_.front());
      ready_.pop_front();
      task();
    }
    return ran;
  }

 private:
  std::deque<Task> ready_;
  std::multimap<MonoTime, Task> later_;
};

/// Counts what the pipeline decided; a decision counts once its turn is committed.
class Decided final : public drip::Observer {
 public:
  void on_verdict(const core::Stream&, const drip::EventVerdict& verdict) override {
    ++in_turn_;
    if (on_each) on_each(verdict);
  }
  void on_dead_letter(const core::Stream&, std::string_view, std::string_view reason) override {
    throw std::runtime_error("a dead letter in a bench: " + std::string(reason));
  }
  void committed() { durable_ += std::exchange(in_turn_, 0); }
  [[nodiscard]] std::uint64_t durable() const { return durable_; }
  std::function<void(const drip::EventVerdict&)> on_each;

 private:
  std::uint64_t in_turn_ = 0;
  std::uint64_t durable_ = 0;
};

class EmbeddedLine {
 public:
  /// `limits` as YAML, such as "[ { rps: 1000000 } ]".
  EmbeddedLine(const std::string& path, const std::string& limits) {
    std::filesystem::remove(path);
    std::filesystem::remove(path + "-wal");
    std::filesystem::remove(path + "-shm");
    auto loaded = config::parse(
        "streams:\n  - id: s\n    source: { embedded: in }\n    eventId: \"{id}\"\n    key: \"{key}\"\n"
        "    overflowTopic: over\n    deadLetterTopic: dead\n    maxDelay: 720h\n    deliver: { topic: out "
        "}\n    limits: " +
            limits + "\n",
        "bench");
    if (!loaded.config) throw std::runtime_error(config::to_string(loaded.problems.at(0)));
    settings_ = loaded.config->streams.at(0);
    auto opened = sqlite::Database::open(path);
    if (!opened) throw std::runtime_error(opened.error().detail);
    database_ = std::move(*opened);
    bookings_ = store::make_sqlite_booking_store(*database_, clock_);
    broker_ = std::make_unique<broker::sqlite::Broker>(*database_, executor_, clock_);
    const app::LineContext context{executor_, clock_, *bookings_, decided_};
    line_ = std::make_unique<app::StreamLine>(
        settings_, [this] { return settings_.stream; }, context,
        app::embedded_ports(settings_, clock_, *database_, *broker_, nullptr));
    line_->pipeline().start();
    end_turn();
  }

  /// Appends one event to the source topic, in the current turn.
  void publish(std::uint64_t number, const std::string& body) {
    line_->ingest().publish(
        {.id = std::to_string(number), .body = body, .attributes = {}, .published = clock_.now()},
        [](Result<void> done) {
          if (!done) throw std::runtime_error(done.error().detail);
        });
  }
  std::size_t run_turn() { return executor_.run_turn(); }
  void end_turn() {
    if (const auto done = database_->end_turn(); !done) throw std::runtime_error(done.error().detail);
    decided_.committed();
  }
  [[nodiscard]] Decided& decided() { return decided_; }
  [[nodiscard]] runtime::RealClock& clock() { return clock_; }

 private:
  runtime::RealClock clock_;
  HandExecutor executor_;
  Decided decided_;
  config::StreamSettings settings_;
  std::unique_ptr<sqlite::Database> database_;
  std::unique_ptr<store::BookingStore> bookings_;
  std::unique_ptr<broker::sqlite::Broker> broker_;
  std::unique_ptr<app::StreamLine> line_;
};

/// Where bench files go: a real disk, not a memory file system.
[[nodiscard]] inline std::string bench_file(const std::string& name) {
  const char* folder = std::getenv("DRIPGATE_BENCH_DIR");
  return std::string(folder != nullptr ? folder : "/var/tmp") + "/dripgate-bench-" + name + ".db";
}

/// About 256 bytes of JSON with its id and key.
[[nodiscard]] inline std::string event_body(std::uint64_t number, std::uint64_t keys) {
  std::string body = R"({"id":"e)" + std::to_string(number) + R"(","key":"merchant_)" +
                     std::to_string(number % keys) + R"(","amount":2500.00,"currency":"INR","note":")";
  body.append(256 - std::min<std::size_t>(body.size() + 2, 255), 'x');
  return body + "\"}";
}

}  // namespace dripgate::bench
