// A real clock that never steps: wall time at the start, and on from there by the monotonic clock.
#pragma once

#include <chrono>

#include "base/time.h"

namespace dripgate::testing {

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] WallTime now() const override {
    return start_ + std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - began_);
  }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  WallTime start_ = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
};

}  // namespace dripgate::testing
