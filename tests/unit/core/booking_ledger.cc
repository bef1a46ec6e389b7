#include "unit/core/booking_ledger.h"

#include <algorithm>

#include "core/fixed_window.h"

namespace dripgate::testing {

using core::Algorithm;
using core::Limit;
using core::Units;

void Ledger::set_limits(std::vector<Limit> limits) {
  limits_ = std::move(limits);
  if (!debts_.empty()) return;
  debts_.resize(limits_.size());
  for (const Limit& limit : limits_) refills_.push_back(limit.limit);
}

void Ledger::tick(WallTime now) {
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const double windows =
        static_cast<double>((now - last_).count()) / static_cast<double>(limits_[i].window.count());
    debts_[i] = std::max(0.0, debts_[i] - windows * static_cast<double>(refills_[i]));
    refills_[i] = limits_[i].limit;
  }
  last_ = now;
}

std::string Ledger::release(WallTime now, Units cost) {
  entries_.push_back({now, cost});
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const Limit& limit = limits_[i];
    const std::string name = "limit " + std::to_string(i) + ": ";
    debts_[i] += static_cast<double>(cost);
    if (limit.algorithm == Algorithm::fixed_window && in_window(limit, now) > limit.limit)
      return name + std::to_string(in_window(limit, now)) + " in a window of " + std::to_string(limit.limit);
    if (limit.algorithm == Algorithm::sliding_log && in_span(limit.window, now) > limit.limit)
      return name + std::to_string(in_span(limit.window, now)) + " in a span of " +
             std::to_string(limit.limit);
    if (limit.algorithm == Algorithm::token_bucket && debts_[i] > static_cast<double>(limit.capacity) + 1e-6)
      return name + std::to_string(debts_[i]) + " out of a bucket of " + std::to_string(limit.capacity);
  }
  return "";
}

void Ledger::forget() {
  entries_.clear();
  last_ = kLongAgo;
  std::ranges::fill(debts_, 0.0);
}

Units Ledger::in_window(const Limit& limit, WallTime now) const {
  const WallTime start = core::window_start(limit, now);
  Units units = 0;
  for (auto entry = entries_.rbegin(); entry != entries_.rend() && entry->at >= start; ++entry)
    units += entry->cost;
  return units;
}

Units Ledger::in_span(Duration window, WallTime now) const {
  Units units = 0;
  for (auto entry = entries_.rbegin(); entry != entries_.rend() && entry->at > now - window; ++entry)
    units += entry->cost;
  return units;
}

}  // namespace dripgate::testing
