// All-or-nothing over several limits and kinds: pure functions on counter states.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/counter.h"
#include "core/decision.h"
#include "core/limit.h"

namespace dripgate::core {

/// One charge with the state it was loaded with; `consume` changes the states of all items or of none.
struct CheckItem {
  CounterState* state;
  const Limit* limit;
  Units cost;
};

[[nodiscard]] Decision consume(std::span<const CheckItem> items, WallTime now);
[[nodiscard]] Decision peek(std::span<const CheckItem> items, WallTime now);
/// Gives units back that were taken at `consumed_at`; never into a later window. False: nothing to give back
/// to.
bool refund(CounterState& state, const Limit& limit, Units cost, WallTime consumed_at, WallTime now);

}  // namespace dripgate::core
