#include "core/vendor_bucket.h"

#include <algorithm>

#include "core/fixed_window.h"
#include "core/vendor_limit.h"

namespace dripgate::core {
namespace {

using namespace vendor_limit;

/// How long until a call in flight ends, or is over.
Duration wait_for_permit(const VendorState& state, const VendorPolicy& policy, WallTime now) {
  const int most = concurrent_now(state, policy, now);
  if (most == 0 || state.permits.size() < static_cast<std::size_t>(most)) return Duration{0};
  return std::min(kPermitWaitMax, state.permits.front().lease_end - now);
}

/// How long until somebody else may try after a refusal.
Duration wait_for_probe(const VendorState& state, WallTime now) {
  if (state.strikes == 0 || state.permits.empty()) return Duration{0};
  const WallTime probe = state.permits.back().id.acquired;
  if (probe < state.frozen) return Duration{0};
  return std::clamp<Duration>(probe + kProbeFor - now, Duration{0}, kProbeLook);
}

void give_permit(VendorState& state, const VendorPolicy& policy, const VendorCosts& costs, WallTime now) {
  if (state.permits.size() == kPermitsMax) state.permits.erase(state.permits.begin());
  WallTime lease_end = now + policy.lease;
  // They end in the order of their acquires, whatever a reload has made of the lease.
  if (!state.permits.empty()) lease_end = std::max(lease_end, state.permits.back().lease_end);
  VendorState::Permit permit{.id = {++state.permits_given, now}, .lease_end = lease_end, .costs = {}};
  std::copy_n(costs.begin(), policy.limits.size(), permit.costs.begin());
  state.permits.push_back(permit);
}

/// The first start at or after `earliest` that nobody was told, so that not all who wait come at once.
WallTime own_start(VendorState& state, const VendorPolicy& policy, const VendorCosts& costs,
                   WallTime earliest) {
  const std::size_t i = queue_limit(policy);
  if (i == policy.limits.size() || costs[i] == 0) return earliest;
  const Limit& limit = policy.limits[i];
  const Duration spread = spread_over(limit);
  WallTime start = state.told + Duration{ceil_div(costs[i] * spread.count(), limit.limit)};
  Duration most = kToldAheadMax;
  if (limit.algorithm != Algorithm::token_bucket) {
    const Window window = window_at(limit, start);
    if (start - window.start >= spread) start = window.end;
    most = std::max(most, limit.window);
  }
  if (start < earliest || start - earliest >= most) start = earliest;
  return state.told = start;
}

}  // namespace

std::size_t paced_limit(const VendorPolicy& policy) {
  std::size_t found = policy.limits.size();
  for (std::size_t i = 0; i < policy.limits.size(); ++i) {
    if (!can_pace(policy.limits[i])) continue;
    if (found == policy.limits.size() || policy.limits[i].window < policy.limits[found].window) found = i;
  }
  return found;
}

std::size_t queue_limit(const VendorPolicy& policy) {
  std::size_t found = paced_limit(policy);
  if (found < policy.limits.size()) return found;
  for (std::size_t i = 0; i < policy.limits.size(); ++i) {
    const Limit& limit = policy.limits[i];
    if (limit.algorithm != Algorithm::token_bucket || limit.limit == 0) continue;
    if (found == policy.limits.size() || Wide{limit.window.count()} * policy.limits[found].limit >
                                             Wide{policy.limits[found].window.count()} * limit.limit)
      found = i;
  }
  return found;
}

Result<VendorGrant> acquire(VendorState& state, const VendorPolicy& policy, const VendorCosts& costs,
                            WallTime now) {
  const auto at = enter(state, policy, now);
  if (!at) return std::unexpected(at.error());
  VendorGrant grant;
  grant.now = *at;
  grant.frozen_until = frozen_after(state, *at);
  const std::size_t paced = paced_limit(policy);
  const WallTime thawed = std::max(state.frozen, *at);  // nobody starts before
  Duration wait = std::max<Duration>(thawed - *at, wait_for_probe(state, *at));
  const Duration for_permit = wait_for_permit(state, policy, *at);
  for (std::size_t i = 0; i < policy.limits.size(); ++i) {
    state.limits[i] = refreshed(state, policy, i, *at);
    if (costs[i] == 0) continue;
    if (costs[i] > policy.limits[i].max_cost()) grant.impossible = true;
    const Duration then =
        wait_of(refreshed(state, policy, i, thawed), policy.limits[i], i == paced, costs[i], thawed);
    wait = std::max(wait, then == kNeverResets ? then : thawed - *at + then);
  }
  const bool never = grant.impossible || wait == kNeverResets;
  grant.allowed = !never && wait == Duration{0} && for_permit == Duration{0};
  if (grant.allowed) {
    for (std::size_t i = 0; i < policy.limits.size(); ++i)
      charge(state.limits[i], policy.limits[i], costs[i]);
    give_permit(state, policy, costs, *at);
    grant.permit = state.permits.back().id;
  } else if (!never) {
    // A permit may come back at any time: who waits for one is told no start of his own.
    grant.retry_after = wait >= for_permit ? own_start(state, policy, costs, *at + wait) - *at : for_permit;
  }
  grant.remaining = least_remaining(state, policy, *at);
  return grant;
}

VendorView view(VendorState state, const VendorPolicy& policy, WallTime now) {
  VendorView view;
  view.exists = state.permits_given > 0 || state.seen > VendorState::kNever;
  const WallTime at = enter(state, policy, now).value_or(state.seen);
  if (state.limits.size() < policy.limits.size()) state.limits.resize(policy.limits.size());
  view.frozen_until = frozen_after(state, at);
  view.strikes = state.strikes;
  view.in_flight = state.permits.size();
  view.concurrent = concurrent_now(state, policy, at);
  for (std::size_t i = 0; i < policy.limits.size(); ++i) {
    view.remaining.push_back(remaining(refreshed(state, policy, i, at), policy.limits[i], at));
    const WallTime hold = state.limits[i].hold;
    view.hold.push_back(hold > at ? std::optional(hold) : std::nullopt);
  }
  return view;
}

WallTime kept_until(const VendorState& state, const VendorPolicy& policy) {
  WallTime until = std::max({state.frozen, state.concurrent_until, state.seen, state.told});
  if (state.strikes > 0) until = std::max(until, std::max(state.frozen, state.refused) + policy.freeze_cap);
  if (!state.permits.empty()) until = std::max(until, state.permits.back().lease_end);
  for (std::size_t i = 0; i < std::min(state.limits.size(), policy.limits.size()); ++i) {
    const VendorState::OfLimit& mine = state.limits[i];
    const Limit& limit = policy.limits[i];
    until = std::max(until, mine.hold);
    if (mine.window == Duration{0}) continue;
    if (limit.algorithm != Algorithm::token_bucket) {
      const bool thaws = i == paced_limit(policy) && state.frozen > mine.time;
      until = std::max(until, window_at(limit, thaws ? state.frozen : mine.time).end);
    } else if (limit.limit > 0) {
      until = std::max(until, mine.time + Duration{ceil_div(mine.value, limit.limit)});
    } else if (mine.value > 0) {
      until = std::max(until, state.seen + kVendorNeverRefills);
    }
  }
  return until + kVendorKept;
}

}  // namespace dripgate::core
