// The port to a durable timer: entries survive kills and fire at or after `due`, at least once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "broker/message.h"

namespace dripgate::broker {

struct TimerEntry {
  std::string id;  // deterministic; scheduling an id that exists means it is persisted already
  WallTime due;
  Message message;  // the enriched payload; the ticket travels in its attributes
};

struct FiredEntry {
  TimerEntry entry;
  std::uint64_t token = 0;  // names this firing in settle and lapse
};

struct TimerStats {
  std::uint64_t pending = 0;
  std::optional<WallTime> oldest_due;
  std::optional<WallTime> latest_due;
};

class Timer {
 public:
  using Handler = std::function<void(FiredEntry)>;

  virtual ~Timer() = default;
  /// `done` without an error: persisted. timed_out: unknown, schedule the same id again. Not transient:
  /// refused for good.
  virtual void schedule(TimerEntry entry, Done<void> done) = 0;
  /// Begins to fire. `handler` runs on the executor of the timer.
  virtual void start(Handler handler) = 0;
  /// The firing was handled: the entry is gone once confirmed.
  virtual void settle(std::uint64_t token, Done<void> done) = 0;
  /// Not handled: fires again later.
  virtual void lapse(std::uint64_t token) = 0;
  virtual void pause() = 0;
  virtual void resume() = 0;
  virtual void stats(Done<TimerStats> done) = 0;
};

}  // namespace dripgate::broker
