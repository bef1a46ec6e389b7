// Engine: every stream's pipeline over the store of the config: the embedded file (embedded_engine.h) or
// Redis (redis_engine.h). Opened by App before the loop starts, then on the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/health.h"
#include "app/lines.h"
#include "app/turn.h"
#include "broker/claims.h"
#include "obs/log.h"
#include "runtime/loop.h"
#include "store/booking_store.h"
#include "store/counter_store.h"
#include "store/vendor_store.h"

namespace dripgate::app {

/// Said while Engine::has_room is false.
inline constexpr const char* kDiskFull =
    "the disk of the database is full: free some space; events already booked are still delivered";

/// What an Engine works with; everything outlives it.
struct EngineContext {
  runtime::Loop& loop;
  Clock& clock;
  const config::Snapshot& snapshot;
  drip::Observer& observer;
  Health& health;
  obs::Log& log;
  std::function<broker::Sink*(const std::string& stream)> http_sink;  // null: it delivers to a topic
  /// The timer of a stream that has it elsewhere than in the store, with the claims of what is too large for
  /// it (null: none); null: it has not. May be empty.
  std::function<std::unique_ptr<broker::Timer>(const config::StreamSettings&,
                                               std::unique_ptr<broker::Claims>)>
      timer{};
  drip::Roles roles{};
  config::Environment environment{};
  bool create = false;  // topics and subscriptions that are missing on Google Cloud
  /// A message asks for a look at the config file, by the number of that reload. On the loop.
  std::function<void(std::int64_t)> reload_asked{};
};

class Engine : public Turn {
 public:
  explicit Engine(EngineContext context) : context_(std::move(context)), lines_(context_.snapshot) {}

  /// Opens the store of the config in force and starts nothing. Errors: what it says, one sentence.
  virtual Result<void> open() = 0;
  /// Builds and starts every pipeline. On the loop.
  virtual void start() = 0;
  /// On the loop, after every turn.
  virtual void end_turn() {}
  [[nodiscard]] virtual store::BookingStore& bookings() = 0;
  /// Counters of the gate that must be asked on the loop (the embedded file's); null: there are none, or the
  /// store does not work right now.
  [[nodiscard]] virtual store::CounterStore* counters() { return nullptr; }
  /// Vendor keys of the embedded file, as `counters`.
  [[nodiscard]] virtual store::VendorStore* vendors() { return nullptr; }
  /// False while the disk is full: nothing new is taken in, what is booked goes out (sqlite/space.h).
  [[nodiscard]] virtual bool has_room() { return true; }
  /// Tells operators which config this process runs, where several share a store. On the loop.
  virtual void report_config(const server::ConfigState&) {}
  /// False: what comes in is decided by another process.
  [[nodiscard]] bool decides_here() const { return context_.roles.intake; }

  /// Null: no such stream, or the pipelines are down.
  [[nodiscard]] StreamLine* find(const std::string& stream) { return lines_.find(stream); }
  /// Ordered end of every pipeline, at most `wait` on the clock of the loop, and of what else tells others of
  /// this process; `done` on the loop.
  virtual void shutdown(Duration wait, Task done) { lines_.shutdown(wait, std::move(done)); }
  /// Pausing outlives a rebuild, not a restart. False: no such stream or down.
  bool pause(const std::string& stream) { return lines_.pause(stream); }
  bool resume(const std::string& stream) { return lines_.resume(stream); }
  [[nodiscard]] bool paused(const std::string& stream) const { return lines_.paused(stream); }

 protected:
  /// Builds the line of every stream on the ports that `ports_of` makes, and starts it.
  void start_lines(const std::function<LinePorts(const config::StreamSettings&)>& ports_of);

  EngineContext context_;
  Lines lines_;
};

/// The engine for the store of the config in force.
[[nodiscard]] std::unique_ptr<Engine> make_engine(EngineContext context);

}  // namespace dripgate::app
