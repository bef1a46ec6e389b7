// Calendar days of a zone. Called by core's fixed window for every check and booking on a calendar limit.
// Pure, any thread.
//
// Local dates are not monotone: a clock that goes back over midnight shows yesterday again, one that skips
// midnight starts a day at 01:00, one that skips a whole date never shows it. So the day of t is the LATEST
// date shown at or before t, and a date starts at the first instant that shows it or a later one. Both are
// monotone in t, which is what "each date grants its quota once" needs.
#include "base/zone.h"

#include <algorithm>

#include "base/checked.h"

namespace dripgate {
namespace {

constexpr Duration kDay = std::chrono::hours{24};
/// No zone was ever further from UTC than 15 h 14 min; 26 h also holds any odd test list.
constexpr Duration kOffsetMax = std::chrono::hours{26};

using Transitions = std::vector<ZoneTransition>;

/// The transition in force at t: the first one also holds for all earlier time.
Transitions::const_iterator in_force(const Transitions& transitions, WallTime t) {
  const auto later =
      std::upper_bound(transitions.begin(), transitions.end(), t,
                       [](WallTime time, const ZoneTransition& next) { return time < next.at; });
  return later == transitions.begin() ? later : later - 1;
}

/// The latest local time shown at or before t. Only offsets of the last 2 x kOffsetMax can have shown more
/// than t shows now.
WallTime latest_local(const Transitions& transitions, WallTime t) {
  auto piece = in_force(transitions, t);
  WallTime latest = t + piece->utc_offset;
  while (piece != transitions.begin() && piece->at > t - 2 * kOffsetMax) {
    const WallTime last_instant = piece->at - Duration{1};
    --piece;
    latest = std::max(latest, last_instant + piece->utc_offset);
  }
  return latest;
}

/// The first instant whose local time is at or after `local`: nothing before local - kOffsetMax can show it.
WallTime first_showing(const Transitions& transitions, WallTime local) {
  auto piece = in_force(transitions, local - kOffsetMax);
  for (;; ++piece) {
    const WallTime from = piece == transitions.begin() ? kLongAgo - 2 * kOffsetMax : piece->at;
    const WallTime reached = std::max(from, local - piece->utc_offset);
    if (piece + 1 == transitions.end() || reached < (piece + 1)->at) return reached;
  }
}

}  // namespace

Zone::Day Zone::day_at(WallTime t) const {
  const Duration shown = latest_local(transitions, t).time_since_epoch();
  const WallTime midnight{floor_div(shown.count(), kDay.count()) * kDay};
  return {.start = first_showing(transitions, midnight), .end = first_showing(transitions, midnight + kDay)};
}

}  // namespace dripgate
