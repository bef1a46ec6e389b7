#include "core/vendor_limit.h"

#include <algorithm>

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

}  // namespace

VendorState::OfLimit refreshed(const VendorState& state, const VendorPolicy& policy, std::size_t index,
                               WallTime now) {
  const Limit& limit = policy.limits[index];
  VendorState::OfLimit mine = state.limits[index];
  if (mine.bucket != is_bucket(limit)) mine = {.hold = mine.hold, .bucket = is_bucket(limit)};
  const bool fresh = mine.window == Duration{0};
  if (is_bucket(limit)) {
    if (fresh) mine.time = now;
    if (!fresh && mine.window != limit.window) mine.value = converted(mine, limit);
    mine.window = limit.window;
    if (mine.time >= now) return mine;
    const Wide refilled = Wide{(now - mine.time).count()} * limit.limit;
    mine.value = refilled >= mine.value ? 0 : mine.value - static_cast<std::int64_t>(refilled);
    mine.time = now;
    return mine;
  }
  const Window current = window_at(limit, now);
  const bool other = !fresh && mine.window != limit.window;
  const bool live = !fresh && mine.time + mine.window > now;
  mine.window = limit.window;
  if (other) {
    if (!live) mine.value = 0;
    mine.time = current.start;
    return mine;
  }
  if (mine.time >= current.start && !fresh) return mine;
  const Duration guard = limit.window - spread_over(limit);
  mine.value = fresh ? 0 : in_flight_at(state, index, current.start, guard, limit.limit);
  mine.time = current.start;
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

void empty_at(VendorState::OfLimit& state, const Limit& limit, bool paced, WallTime until) {
  if (is_bucket(limit)) {
    state.value = std::max(state.value, limit.capacity * limit.window.count());
    state.time = until;
    state.window = limit.window;
    return;
  }
  if (!paced) return;
  const WallTime start = window_start(limit, until);
  const Units used =
      std::min(limit.limit, (until - start).count() * limit.limit / spread_over(limit).count() + 1);
  state.value = state.time == start && state.window == limit.window ? std::max(state.value, used) : used;
  state.time = start;
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
