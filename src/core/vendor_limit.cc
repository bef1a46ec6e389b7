#include "core/vendor_limit.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/fixed_window.h"

namespace dripgate::core::vendor_limit {
namespace {

constexpr std::int64_t kDebtMax = kExactIntegerMax - 1;

bool is_bucket(const Limit& limit) {
  return limit.algorithm == Algorithm::token_bucket;
}

/// A state counted in another window's numbers: whole units carry, rounded against the caller.
std::int64_t converted(const VendorState::OfLimit& state, const Limit& limit) {
  const Wide units = ceil_div<Wide>(state.value, state.window.count());
  return static_cast<std::int64_t>(std::min<Wide>(units * limit.window.count(), kDebtMax));
}

Units in_flight_at(const VendorState& state, std::size_t index, WallTime start, Duration guard, Units most) {
  Units units = 0;
  for (auto permit = state.permits.rbegin(); permit != state.permits.rend(); ++permit) {
    if (permit->id.acquired < start - guard) break;
    units += permit->costs[index];
  }
  return std::min(units, most);
}

/// Units that begin until `since` after a window's start, spread evenly.
Units even_share(const Limit& limit, Duration since) {
  return std::min(limit.limit, since.count() * limit.limit / spread_over(limit).count() + 1);
}

}  // namespace

VendorState::OfLimit refreshed(const VendorState& state, const VendorPolicy& policy, std::size_t index,
                               WallTime at) {
  const Limit& limit = policy.limits[index];
  VendorState::OfLimit mine = state.limits[index];
  if (mine.bucket != is_bucket(limit)) mine = {.hold = mine.hold, .bucket = is_bucket(limit)};
  const bool fresh = mine.window == Duration{0};
  if (is_bucket(limit)) {
    if (fresh) mine.time = at;
    if (!fresh && mine.window != limit.window) mine.value = converted(mine, limit);
    mine.window = limit.window;
    if (mine.time >= at) return mine;
    const Wide refilled = Wide{(at - mine.time).count()} * limit.limit;
    mine.value = refilled >= mine.value ? 0 : mine.value - static_cast<std::int64_t>(refilled);
    mine.time = at;
    return mine;
  }
  const WallTime start = window_start(limit, at);
  const Duration span = std::exchange(mine.window, limit.window);
  if (!fresh && span != limit.window) {
    if (mine.time + span <= at) mine.value = 0;
    mine.time = start;
  } else if (fresh || mine.time < start) {
    const Duration guard = limit.window - spread_over(limit);
    mine.value = fresh ? 0 : in_flight_at(state, index, start, guard, limit.limit);
    mine.time = start;
  }
  // A freeze leaves nothing of what could have been used until it ends.
  const WallTime thaw = std::min(state.frozen, at);
  if (thaw >= mine.time && index == paced_limit(policy))
    mine.value = std::max(mine.value, even_share(limit, thaw - mine.time));
  return mine;
}

Duration wait_of(const VendorState::OfLimit& state, const Limit& limit, bool paced, Units cost,
                 WallTime now) {
  const Duration held = std::max<Duration>(state.hold - now, Duration{0});
  if (is_bucket(limit)) {
    const Wide over =
        Wide{state.value} + Wide{cost} * limit.window.count() - Wide{limit.capacity} * limit.window.count();
    const Duration until = std::max<Duration>(state.time - now, Duration{0});
    if (over <= 0) return std::max(held, until);
    if (limit.limit == 0) return kNeverResets;
    return std::max(held, until + Duration{saturate(ceil_div<Wide>(over, limit.limit))});
  }
  if (state.value + cost > limit.limit) return std::max(held, window_at(limit, state.time).end - now);
  WallTime start = state.time;
  if (paced) start += Duration{state.value * spread_over(limit).count() / limit.limit};
  return std::max({held, start - now, Duration{0}});
}

Units remaining(const VendorState::OfLimit& state, const Limit& limit, WallTime now) {
  if (state.hold > now) return 0;
  if (!is_bucket(limit)) return std::max<Units>(0, limit.limit - state.value);
  const Wide left = Wide{limit.capacity} * limit.window.count() - state.value;
  return left <= 0 ? 0 : static_cast<Units>(left / limit.window.count());
}

void charge(VendorState::OfLimit& state, const Limit& limit, Units units) {
  const Wide amount = is_bucket(limit) ? Wide{units} * limit.window.count() : Wide{units};
  state.value = static_cast<std::int64_t>(std::clamp<Wide>(state.value + amount, 0, kDebtMax));
}

void set_remaining(VendorState::OfLimit& state, const Limit& limit, Units units, WallTime now) {
  if (!is_bucket(limit)) {
    state.value = limit.limit - units;
    return;
  }
  state.value = (limit.capacity - units) * limit.window.count();
  state.time = now;
}

void empty_at(VendorState::OfLimit& state, const Limit& limit, WallTime until) {
  if (!is_bucket(limit)) return;
  state.value = std::max(state.value, limit.capacity * limit.window.count());
  state.time = until;
  state.window = limit.window;
}

Result<WallTime> enter(VendorState& state, const VendorPolicy& policy, WallTime now) {
  auto held = clamp_clock(state.seen, now);
  if (!held) return held;
  state.seen = *held;
  state.limits.resize(policy.limits.size());
  const auto live = std::ranges::find_if(state.permits, [&](const auto& p) { return p.lease_end > *held; });
  state.permits.erase(state.permits.begin(), live);
  if (state.concurrent > 0 && state.concurrent_until <= *held) state.concurrent = 0;
  // Whoever tells of refusals alone would else try one call at a time for ever.
  if (std::max(state.frozen, state.refused) + policy.freeze_cap <= *held) state.strikes = 0;
  return held;
}

int concurrent_now(const VendorState& state, const VendorPolicy& policy, WallTime now) {
  if (state.concurrent == 0 || state.concurrent_until <= now) return policy.concurrent;
  return policy.concurrent == 0 ? state.concurrent : std::min(state.concurrent, policy.concurrent);
}

Units least_remaining(const VendorState& state, const VendorPolicy& policy, WallTime now) {
  Units least = kExactIntegerMax;
  for (std::size_t i = 0; i < policy.limits.size(); ++i)
    least = std::min(least, remaining(refreshed(state, policy, i, now), policy.limits[i], now));
  return frozen_after(state, now) ? 0 : least;
}

}  // namespace dripgate::core::vendor_limit
