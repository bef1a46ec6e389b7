// Time: whole microseconds everywhere. Core takes `now` as an argument; shells take a Clock and an Executor.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.h"

namespace dripgate {

using Duration = std::chrono::microseconds;
/// A point on the store's clock: microseconds since 1970-01-01T00:00:00Z.
using WallTime = std::chrono::sys_time<Duration>;
/// A point on this process' monotonic clock; only differences mean something.
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// Before every real time, with room for arithmetic on both sides.
inline constexpr WallTime kLongAgo{Duration{-(std::int64_t{1} << 60)}};
/// After every real time, with room for arithmetic on both sides.
inline constexpr WallTime kNeverEnds{Duration{std::int64_t{1} << 60}};

[[nodiscard]] constexpr std::int64_t to_us(WallTime t) {
  return t.time_since_epoch().count();
}
[[nodiscard]] constexpr WallTime from_us(std::int64_t us) {
  return WallTime{Duration{us}};
}

/// Reads time. The real one lives in app; a scaled one drives the demo, a virtual one the tests.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual WallTime now() const = 0;
};

/// One logical thread: tasks run one at a time, in order. Not thread-safe to destroy while running; `post`
/// may be called from any thread. Tasks still queued when the executor ends are destroyed unrun.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void post(Task task) = 0;
  /// Runs `task` no sooner than `delay` from now, on the clock this executor is bound to (scaled and virtual
  /// clocks scale it).
  virtual void post_after(Duration delay, Task task) = 0;
};

}  // namespace dripgate
