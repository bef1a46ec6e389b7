// Fixed-window counter: units used in one window of core/fixed_window. Called by core/counter and core/check.
// Pure.
#pragma once

#include "core/counter.h"

namespace dripgate::core::window_counter {

[[nodiscard]] Step evaluate(const CounterState& state, const Limit& limit, Units cost, WallTime now);
bool refund(CounterState& state, const Limit& limit, Units cost, WallTime consumed_at, WallTime now);

}  // namespace dripgate::core::window_counter
