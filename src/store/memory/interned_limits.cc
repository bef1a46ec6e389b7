// See the header.
#include "store/memory/interned_limits.h"

namespace dripgate::store {

InternedLimits::InternedLimits() : limits_(kNumbersMax) {}

InternedLimits::Number InternedLimits::intern(const core::Limit& limit) {
  const std::lock_guard lock(mutex_);
  if (const auto known = numbers_.find(limit); known != numbers_.end()) return known->second;
  Number number = kNone;
  if (!free_.empty()) {
    number = free_.back();
    free_.pop_back();
  } else if (next_ < kNumbersMax) {
    number = static_cast<Number>(next_++);
  } else {
    return kNone;
  }
  limits_[number] = std::make_unique<const core::Limit>(limit);
  numbers_.emplace(limit, number);
  return number;
}

void InternedLimits::sweep(const std::vector<bool>& used) {
  const std::lock_guard lock(mutex_);
  for (std::size_t number = 1; number < next_; ++number) {
    if (used[number] || !limits_[number]) continue;
    numbers_.erase(*limits_[number]);
    limits_[number].reset();
    free_.push_back(static_cast<Number>(number));
  }
}

std::size_t InternedLimits::Hash::operator()(const core::Limit& limit) const {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  std::uint64_t hash = static_cast<std::uint64_t>(limit.algorithm);
  for (const std::int64_t number : {limit.limit, std::int64_t{limit.window.count()}, limit.capacity})
    hash = (hash ^ static_cast<std::uint64_t>(number)) * kOdd;
  return (hash ^ reinterpret_cast<std::uintptr_t>(limit.zone.get())) * kOdd;
}

}  // namespace dripgate::store
