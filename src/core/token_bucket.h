// Token bucket as one theoretical arrival time (when it is full again), in whole us plus a rest in 1/limit
// us: exact for every rate. Called by core/counter and core/check. Pure.
#pragma once

#include "core/counter.h"

namespace dripgate::core::token_bucket {

[[nodiscard]] Step evaluate(const CounterState& state, const Limit& limit, Units cost, WallTime now);
bool adopt(CounterState& state, const Limit& limit, WallTime now);
bool refund(CounterState& state, const Limit& limit, Units cost, WallTime consumed_at, WallTime now);
[[nodiscard]] WallTime refundable_until(const Limit& limit, Units cost, WallTime consumed_at);
[[nodiscard]] WallTime forgettable_at(PackedState state, Units refill);

}  // namespace dripgate::core::token_bucket
