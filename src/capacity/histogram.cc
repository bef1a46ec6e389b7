#include "capacity/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dripgate::capacity {
namespace {

constexpr int kExactBits = 7;

}  // namespace

void Histogram::add(Duration took) {
  const auto us = static_cast<std::uint64_t>(std::clamp(took, Duration{0}, kLongest).count());
  std::size_t index = us;
  if (us >= kExact) {
    const int shift = static_cast<int>(std::bit_width(us)) - kExactBits;
    index = kExact + static_cast<std::size_t>(shift - 1) * kSteps + ((us >> shift) - kSteps);
  }
  ++counts_[index];
  ++count_;
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
}

Duration Histogram::at(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t index = 0; index < counts_.size(); ++index) {
    seen += counts_[index];
    if (seen == 0 || seen < wanted) continue;
    if (index < kExact) return Duration{static_cast<std::int64_t>(index)};
    const std::size_t shift = (index - kExact) / kSteps + 1, step = (index - kExact) % kSteps + kSteps;
    return Duration{static_cast<std::int64_t>(((step + 1) << shift) - 1)};
  }
  return Duration{0};
}

}  // namespace dripgate::capacity
