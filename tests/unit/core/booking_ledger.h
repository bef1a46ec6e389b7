// An independent account of what one key released, against the limits in force. It keeps every release and
// counts naively, and shares no arithmetic with the code under test except where windows begin.
#pragma once

#include <string>
#include <vector>

#include "core/limit.h"

namespace dripgate::testing {

class Ledger {
 public:
  explicit Ledger(std::vector<core::Limit> limits) { set_limits(std::move(limits)); }

  /// The numbers in force from the next call of `tick` on. Same kinds and windows, in the same order.
  void set_limits(std::vector<core::Limit> limits);
  /// Every call on the key, at the key's clock.
  void tick(WallTime now);
  /// Empty, or which limit the release exceeded.
  std::string release(WallTime now, core::Units cost);
  /// Nothing is known of before: the store was emptied.
  void forget();

 private:
  struct Entry {
    WallTime at;
    core::Units cost;
  };
  [[nodiscard]] core::Units in_window(const core::Limit& limit, WallTime now) const;
  [[nodiscard]] core::Units in_span(Duration window, WallTime now) const;

  std::vector<core::Limit> limits_;
  std::vector<Entry> entries_;
  std::vector<double> debts_;         // of buckets, in units; exact enough for one unit in 10^6
  std::vector<core::Units> refills_;  // units per window that filled the buckets until the last tick
  WallTime last_ = kLongAgo;
};

}  // namespace dripgate::testing
