// The real clocks: the only place of the product that reads time. RealClock is the store's clock of a process
// that owns its file; ScaledClock runs it faster for the demo and for `up --clock-scale`. Thread-safe.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace dripgate::runtime {

/// This process' monotonic clock: for waits that are never scaled (loop, progress, deadlines of a shell).
[[nodiscard]] MonoTime mono_now();

class RealClock final : public Clock {
 public:
  [[nodiscard]] WallTime now() const override;
};

/// Shows `start` when it is made and then runs `scale` times as fast as the real clock.
class ScaledClock final : public Clock {
 public:
  ScaledClock(WallTime start, std::int64_t scale) : start_(start), scale_(scale), began_(mono_now()) {}
  [[nodiscard]] WallTime now() const override { return start_ + (mono_now() - began_) * scale_; }

 private:
  WallTime start_;
  std::int64_t scale_;
  MonoTime began_;
};

}  // namespace dripgate::runtime
