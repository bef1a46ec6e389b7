// LocalCounters: this process' share of every limit while the shared store is away. Of N instances each
// admits rate / N with a burst of max(1, floor(capacity / N)): a token bucket in memory, for windows and logs
// too.
//
// One per process, shared by the FailoverStores of all its threads: two of them would admit two shares.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/limits.h"
#include "core/limit.h"
#include "store/guarded_store.h"
#include "store/memory/counter_table.h"
#include "store/store_clock.h"

namespace dripgate::store {

inline constexpr std::size_t kLocalKeysMax = 1'000'000;

/// A bucket of rate limit / (window x instances), exactly: `limit` units per window x instances. A limit or a
/// capacity of 0 stays 0.
[[nodiscard]] core::Limit local_share(const core::Limit& limit, int instances);

class LocalCounters {
 public:
  /// `clock` must not step: a steady one that shows wall time (runtime::ScaledClock at scale 1). Outlives
  /// this.
  explicit LocalCounters(Clock& clock, std::size_t keys_max = kLocalKeysMax)
      : clock_(clock), table_(keys_max) {}

  /// How many processes share the limits, as last counted through the store; kept while it is away.
  void set_instances(int instances);
  [[nodiscard]] int instances() const { return instances_.load(std::memory_order_relaxed); }

  /// What was asked here and can be given back once.
  struct Taken {
    Charges shares;  // limits are the shares
    WallTime at;
  };
  struct Answer {
    core::Decision decision;  // one outcome per charge of `asked`, each marked local
    Taken taken;              // empty on a refusal
  };
  /// All or nothing. A cost above the share's burst, not above the limit, is a deny without retry_after.
  /// Errors: full (too many keys that matter), invalid_argument. Nothing is taken then.
  [[nodiscard]] Result<Answer> consume(std::vector<const GuardedCharge*> asked) {
    return decide(std::move(asked), true);
  }
  /// The same decision, nothing taken.
  [[nodiscard]] Result<Answer> peek(std::vector<const GuardedCharge*> asked) {
    return decide(std::move(asked), false);
  }
  /// At most once per Taken.
  void give_back(const Taken& taken);

 private:
  [[nodiscard]] Result<Answer> decide(std::vector<const GuardedCharge*> asked, bool take);

  StoreClock clock_;
  CounterTable table_;
  std::atomic<int> instances_{1};
};

}  // namespace dripgate::store
