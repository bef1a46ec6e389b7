// All-or-nothing over several limits and kinds: pure functions on counter states. Every CounterStore calls
// these.
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

/// A refusal takes nothing, but a state written under other numbers is brought to the new ones
/// (core/counter.h, adopt; `written` differs then): backends write that back too. Items that share a state
/// count together. `decisive`: an impossible item, else the longest wait ("never" is the longest), else the
/// fewest remaining units.
[[nodiscard]] Decision consume(std::span<const CheckItem> items, WallTime now);
[[nodiscard]] Decision peek(std::span<const CheckItem> items, WallTime now);

/// Sets verdict and decisive by the outcomes: a closed one first, then as above; numbers before none.
void judge(Decision& decision);

/// Gives units back that were taken at `consumed_at`; never into a later window. False: nothing to give back
/// to. Afterwards never more is admitted than if the units had never been taken: what a bucket has refilled
/// meanwhile is not given a second time.
bool refund(CounterState& state, const Limit& limit, Units cost, WallTime consumed_at, WallTime now);
/// From here on `refund` of this charge gives nothing back: a backend remembers request ids until then.
[[nodiscard]] WallTime refundable_until(const Limit& limit, Units cost, WallTime consumed_at);

/// The time to use where a clock was last seen at `last_seen`: a step back is clamped by up to
/// kClockClampMax. Error: clock_stepped_back.
[[nodiscard]] Result<WallTime> clamp_clock(WallTime last_seen, WallTime now);

}  // namespace dripgate::core
