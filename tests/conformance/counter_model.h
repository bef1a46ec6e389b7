// The plain model that CounterStores are compared with: naive lists of every unit ever granted, and a bucket
// as an exact fraction. It shares no code and no representation with core: a bucket here is a balance that
// grows, there a time at which it is full.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/decision.h"
#include "store/counter_store.h"

namespace dripgate::testing {

/// whole numbers of 1/window units
__extension__ using Exact = __int128;

class CounterModel {
 public:
  core::Decision consume(const store::Charges& charges, WallTime now) { return decide(charges, now, true); }
  core::Decision peek(const store::Charges& charges, WallTime now) { return decide(charges, now, false); }
  bool refund(const store::Refund& refund, WallTime now);
  void reset(const std::string& key) { counters_.erase(key); }
  /// What has run out by `now` is as good as never used.
  [[nodiscard]] bool exists(const store::Charge& charge, WallTime now) const;

 private:
  struct Grant {
    WallTime at;
    core::Units units;
  };
  struct Counter {
    core::Limit limit;          // of the last request that asked
    std::vector<Grant> grants;  // windows and logs: every one since the last reset
    Exact balance = 0;          // bucket: units x window
    WallTime balanced_at;       // ... as of then
  };

  core::Decision decide(const store::Charges& charges, WallTime now, bool take);
  static core::LimitOutcome ask(const Counter& counter, const core::Limit& limit, core::Units cost,
                                WallTime now);
  static core::LimitOutcome ask_window(const Counter& counter, const core::Limit& limit, core::Units cost,
                                       WallTime now);
  static core::LimitOutcome ask_log(const Counter& counter, const core::Limit& limit, core::Units cost,
                                    WallTime now);
  static core::LimitOutcome ask_bucket(const Counter& counter, const core::Limit& limit, core::Units cost,
                                       WallTime now);
  static core::Units used_in_window(const Counter& counter, WallTime start, Duration window);
  static Exact balance_at(const Counter& counter, WallTime now);
  static Exact converted(const Counter& counter, const core::Limit& limit, WallTime now);
  static bool give_back(Counter& counter, const store::Charge& charge, WallTime consumed_at, WallTime now);
  static bool give_back_bucket(Counter& counter, const store::Charge& charge, Duration since, WallTime now);

  Counter& counter_of(const store::Charge& charge, WallTime now);
  [[nodiscard]] Counter known_or_new(const store::Charge& charge, WallTime now) const;

  std::map<std::string, Counter> counters_;
  std::set<std::string> refunded_;
};

}  // namespace dripgate::testing
