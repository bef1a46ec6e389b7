// Waits between delivery attempts. Pure: the jitter comes from the event's name, so that a replayed history
// is the same.
#pragma once

#include <string_view>

#include "base/time.h"

namespace dripgate::drip {

using namespace std::chrono_literals;

/// First wait after a failed delivery; doubles with each, in [1/2, 1) of the nominal value.
inline constexpr Duration kRetryWaitMin = 1s;
inline constexpr Duration kRetryWaitMax = 10min;
/// A sink that answers 429 is left alone for at least this, doubling per deferral of the event ...
inline constexpr Duration kDeferralMin = 100ms;
/// ... and at most this, whatever it asks for: one broken header must not stop a key for a day.
inline constexpr Duration kDeferralMax = 15min;

/// After `failures` failed deliveries (>= 1).
[[nodiscard]] Duration retry_wait(std::string_view event_id, int failures);
/// After `deferrals` earlier 429s of this event.
[[nodiscard]] Duration deferral_wait(Duration asked, int deferrals);
/// Nominal wait * 2^doublings, at most `most`.
[[nodiscard]] Duration doubled(Duration first, int doublings, Duration most);

}  // namespace dripgate::drip
