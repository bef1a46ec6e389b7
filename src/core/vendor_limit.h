// One limit of a vendor key: how long a cost must wait, and how it is charged. Inner header of vendor_bucket
// and vendor_observe. Pure.
#pragma once

#include <algorithm>

#include "base/checked.h"
#include "core/vendor_bucket.h"

namespace dripgate::core::vendor_limit {

/// The limit's state at `at`, now or the end of the freeze: a bucket has refilled, a window may be a new one
/// (into which calls in flight at its edge count). Where a freeze reaches into the paced window, at least the
/// even share up to its end (or to `at`) is used.
[[nodiscard]] VendorState::OfLimit refreshed(const VendorState& state, const VendorPolicy& policy,
                                             std::size_t index, WallTime at);
/// How long `cost` (at least 1) must wait; 0: it may go. `paced`: starts are spread over the window.
[[nodiscard]] Duration wait_of(const VendorState::OfLimit& state, const Limit& limit, bool paced, Units cost,
                               WallTime now);
[[nodiscard]] Units remaining(const VendorState::OfLimit& state, const Limit& limit, WallTime now);
/// Adds units (below 0: gives back); never below nothing used.
void charge(VendorState::OfLimit& state, const Limit& limit, Units units);
/// Leaves `units`.
void set_remaining(VendorState::OfLimit& state, const Limit& limit, Units units, WallTime now);
/// A bucket is empty at `until`, whatever it is before. A window keeps what it has used: `refreshed` knows of
/// the freeze.
void empty_at(VendorState::OfLimit& state, const Limit& limit, WallTime until);

/// A window's starts can be spread: offsets are computed as units x window.
[[nodiscard]] inline bool can_pace(const Limit& limit) {
  return limit.algorithm == Algorithm::fixed_window && !limit.zone && limit.limit > 0 &&
         Wide{limit.limit} * limit.window.count() < kExactIntegerMax;
}

/// What a limit's starts are spread over: a window but for its end, where a call could come to count in the
/// next.
[[nodiscard]] inline Duration spread_over(const Limit& limit) {
  if (limit.algorithm == Algorithm::token_bucket) return limit.window;
  return limit.window - std::min(kArrivalGuard, limit.window / 4);
}

/// now, or the latest time seen. Error: clock_stepped_back.
[[nodiscard]] Result<WallTime> enter(VendorState& state, const VendorPolicy& policy, WallTime now);
[[nodiscard]] int concurrent_now(const VendorState& state, const VendorPolicy& policy, WallTime now);
[[nodiscard]] Units least_remaining(const VendorState& state, const VendorPolicy& policy, WallTime now);
[[nodiscard]] inline std::optional<WallTime> frozen_after(const VendorState& state, WallTime now) {
  return state.frozen > now ? std::optional(state.frozen) : std::nullopt;
}

}  // namespace dripgate::core::vendor_limit
