// Histogram: latencies in bounded room; a quantile is at most 1/64 above the true one. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace dripgate::capacity {

class Histogram {
 public:
  /// Negative ones count as 0, those beyond kLongest as kLongest.
  void add(Duration took);
  void merge(const Histogram& other);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// What `share` (0 to 1) of them did not exceed. 0 when there are none.
  [[nodiscard]] Duration at(double share) const;

  static constexpr Duration kLongest = std::chrono::hours{1};

 private:
  // Exact up to kExact us, then 64 steps per doubling.
  static constexpr std::size_t kExact = 128;
  static constexpr std::size_t kSteps = 64;
  static constexpr std::size_t kDoublings = 26;

  std::array<std::uint64_t, kExact + kSteps * kDoublings> counts_{};
  std::uint64_t count_ = 0;
};

}  // namespace dripgate::capacity
