// StoreClock: the store's own clock, which decides. A clock that steps back is held at the latest time the
// store has answered with, for a step of up to kClockClampMax; a larger step is an alarm and every call fails
// until the clock is back. Used by every embedded backend. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/result.h"
#include "base/time.h"
#include "core/check.h"

namespace dripgate::store {

class StoreClock {
 public:
  explicit StoreClock(Clock& clock) : clock_(clock) {}

  /// Never less than any answer before it. Error: clock_stepped_back.
  [[nodiscard]] Result<WallTime> now() {
    const WallTime time = clock_.now();
    if (time >= latest()) return witness(time);
    auto held = core::clamp_clock(latest(), time);
    if (held) held = witness(*held);
    return held;
  }
  /// Another account of the latest time (a file's); returns the later one.
  WallTime witness(WallTime t) {
    WallTime seen = latest();
    while (seen < t && !latest_.compare_exchange_weak(seen, t, std::memory_order_relaxed)) {
    }
    return std::max(seen, t);
  }
  [[nodiscard]] WallTime latest() const { return latest_.load(std::memory_order_relaxed); }

 private:
  Clock& clock_;
  std::atomic<WallTime> latest_{kLongAgo};
};

}  // namespace dripgate::store
