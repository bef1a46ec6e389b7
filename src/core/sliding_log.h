// Sliding log: at most `limit` units in any span (t - window, t], by keeping the time of every admitted unit.
// Called by core/counter and core/check. Pure.
#pragma once

#include "core/counter.h"

namespace dripgate::core::sliding_log {

/// A refund finds units that were taken so much later than it says: of a request whose groups were asked in
/// turn it names the first time. With the usual `store.timeout` a request takes less; where it takes longer,
/// or clocks of a cluster differ by more, its later units stay spent.
inline constexpr Duration kTakenLaterMax = std::chrono::milliseconds{250};

[[nodiscard]] Step evaluate(const CounterState& state, const Limit& limit, Units cost, WallTime now);
bool adopt(CounterState& state, const Limit& limit, WallTime now);
bool refund(CounterState& state, Units cost, WallTime consumed_at, WallTime now);
[[nodiscard]] WallTime forgettable_at(const CounterState& state);

}  // namespace dripgate::core::sliding_log
