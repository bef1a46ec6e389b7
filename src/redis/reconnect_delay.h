// ReconnectDelay: how long to wait before a lost connection is tried again. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "redis/options.h"

namespace dripgate::redis {

class ReconnectDelay {
 public:
  explicit ReconnectDelay(std::uint64_t seed) : random_(seed) {}

  /// Between half and all of the current step, so that clients who lost a server together do not come back
  /// together; the step doubles, from kReconnectMin to kReconnectMax.
  [[nodiscard]] Duration next() {
    const Duration step = step_;
    step_ = std::min(step_ * 2, kReconnectMax);
    return step / 2 + Duration{std::uniform_int_distribution<std::int64_t>{0, step.count() / 2}(random_)};
  }
  void reset() { step_ = kReconnectMin; }

 private:
  std::mt19937_64 random_;
  Duration step_ = kReconnectMin;
};

}  // namespace dripgate::redis
