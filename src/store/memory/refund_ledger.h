// RefundLedger: which request ids were refunded, until a repeat could give nothing back anyway. Bounded. Used
// by memory/counter_store under its lock.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/time.h"

namespace dripgate::store {

/// Refunds are rare (a later group of a request denied): more than this at once are refused.
inline constexpr std::size_t kRefundIdsMax = std::size_t{1} << 18;

class RefundLedger {
 public:
  [[nodiscard]] bool holds(std::uint64_t id, WallTime now) {
    forget_until(now);
    return expiries_.contains(id);
  }
  [[nodiscard]] bool full() const { return expiries_.size() >= kRefundIdsMax; }
  void add(std::uint64_t id, WallTime expires) {
    expiries_.emplace(id, expires);
    by_expiry_.emplace(expires, id);
  }

 private:
  void forget_until(WallTime now) {
    while (!by_expiry_.empty() && by_expiry_.begin()->first <= now) {
      expiries_.erase(by_expiry_.begin()->second);
      by_expiry_.erase(by_expiry_.begin());
    }
  }

  std::unordered_map<std::uint64_t, WallTime> expiries_;
  std::set<std::pair<WallTime, std::uint64_t>> by_expiry_;
};

}  // namespace dripgate::store
