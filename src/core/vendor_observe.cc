// What an answer of the vendor changes: permit back, actual cost, freeze, fewer calls in flight, lower
// buckets.
#include <algorithm>

#include "core/fixed_window.h"
#include "core/vendor_limit.h"

namespace dripgate::core {
namespace {

using namespace vendor_limit;

/// Calls that were sent before a refusal and are refused too count so far in its row, and freeze for the
/// floor alone. So a burst that only just met the limit costs no more than one refusal, and a vendor that
/// refuses the next call as well has made it clear: five calls at once and their row are 8 requests in 10 s.
constexpr int kTogetherMost = 4;

/// One observation on its way through a state.
class Observing {
 public:
  Observing(VendorState& state, const VendorPolicy& policy, const VendorObservation& seen, WallTime now)
      : state_(state), policy_(policy), seen_(seen), now_(now) {
    effect_.now = now;
    sent_ = seen.sent ? std::min(*seen.sent, now) : now;
    sent_known_ = seen.sent.has_value();
    if (seen.permit) {
      sent_ = std::min(seen.permit->acquired, now);
      sent_known_ = true;
    }
  }

  VendorEffect run() {
    for (std::size_t i = 0; i < policy_.limits.size(); ++i)
      state_.limits[i] = refreshed(state_, policy_, i, now_);
    take_permit();
    follow_verdict();
    follow_reports();
    effect_.frozen_until = frozen_after(state_, now_);
    effect_.remaining = least_remaining(state_, policy_, now_);
    return effect_;
  }

 private:
  void take_permit() {
    if (!seen_.permit) return;
    const auto found = std::ranges::find(state_.permits, *seen_.permit, &VendorState::Permit::id);
    if (found == state_.permits.end()) return;
    const VendorState::Permit permit = *found;
    state_.permits.erase(found);
    effect_.returned = true;
    for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
      const Units actual = seen_.limits[i].actual;
      if (actual < 0) continue;
      effect_.settled = true;
      const Limit& limit = policy_.limits[i];
      const bool gone =
          limit.algorithm != Algorithm::token_bucket && permit.id.acquired < state_.limits[i].time;
      if (!gone) charge(state_.limits[i], limit, actual - permit.costs[i]);
    }
  }

  void follow_verdict() {
    // A call that was sent before the refusal belongs to it: it ends no row.
    const bool later = sent_ > state_.refused;
    if (seen_.verdict == VendorVerdict::answered && later) state_.strikes = 0;
    if (seen_.verdict == VendorVerdict::refused) freeze(later);
    if (seen_.verdict == VendorVerdict::concurrency) lower_concurrency();
    if (seen_.verdict == VendorVerdict::thaw) thaw();
  }

  void freeze(bool later) {
    int doublings = 0;
    if (state_.strikes == 0 || later) {
      state_.strikes = std::min(state_.strikes + 1, kStrikesMax);
      state_.refused = now_;
      doublings = state_.strikes - 1;
    } else {
      state_.strikes = std::max(state_.strikes, std::min(state_.strikes + 1, kTogetherMost));
    }
    // Wide: 29 doublings of a floor of hours pass 2^63.
    const Wide doubled = Wide{policy_.freeze_floor.count()} << doublings;
    const Duration floor{static_cast<std::int64_t>(std::min<Wide>(doubled, policy_.freeze_cap.count()))};
    const WallTime until = now_ + std::min(std::max(seen_.freeze, floor), policy_.freeze_cap);
    if (until <= state_.frozen) return;
    state_.frozen = until;
    effect_.froze = true;
    empty_buckets(until);
  }

  /// The row of a freeze that is over by itself ends too: one call at a time is what is left of it.
  void thaw() {
    state_.strikes = 0;
    if (state_.frozen <= now_) return;
    state_.frozen = now_;
    empty_buckets(now_);
  }

  void empty_buckets(WallTime until) {
    for (std::size_t i = 0; i < policy_.limits.size(); ++i)
      empty_at(state_.limits[i], policy_.limits[i], until);
  }

  void lower_concurrency() {
    const int most = concurrent_now(state_, policy_, now_);
    int fewer = static_cast<int>(state_.permits.size());
    if (most > 0) fewer = std::min(fewer, most - 1);
    state_.concurrent = std::max(1, fewer);
    state_.concurrent_until = now_ + kConcurrentLoweredFor;
    effect_.fewer = true;
  }

  void follow_reports() {
    bool any = false;
    for (std::size_t i = 0; i < policy_.limits.size(); ++i) any |= seen_.limits[i].remaining >= 0;
    if (!any) return;
    if (sent_ < state_.synced) {
      effect_.ignored = true;
      return;
    }
    state_.synced = sent_;
    for (std::size_t i = 0; i < policy_.limits.size(); ++i)
      if (seen_.limits[i].remaining >= 0) follow_report(i);
  }

  void follow_report(std::size_t i) {
    const VendorObservation::OfLimit& report = seen_.limits[i];
    const Limit& limit = policy_.limits[i];
    VendorState::OfLimit& mine = state_.limits[i];
    if (mine.time > now_) return;  // empty at the freeze's end already
    if (of_window_before(i)) return;
    if (report.remaining == 0 && report.hold >= Duration{0} && !ends_with_window(i)) {
      const Duration longest = std::max(policy_.freeze_cap, limit.window * 2);
      const WallTime until = now_ + std::min(report.hold, longest);
      effect_.held |= until > mine.hold;
      mine.hold = std::max(mine.hold, until);
      return;
    }
    const Units target = std::max<Units>(0, report.remaining - in_flight(i));
    const Units ours = remaining(mine, limit, now_);
    // More than the threshold, in exact units; nearly nothing left is always followed.
    const Units threshold = limit.max_cost() * policy_.sync_percent;
    const bool scarce = report.remaining * 100 <= threshold;
    if (target >= ours || !(scarce || (ours - target) * 100 > threshold)) return;
    // Somebody else has used the difference, and is about to use as much again while it is on its way.
    const Units ahead = scarce ? ours - target : 0;
    set_remaining(mine, limit, std::max<Units>(0, target - ahead), now_);
    effect_.lowered = true;
  }

  /// A reset in whole seconds that may be our window's end is taken for it.
  [[nodiscard]] bool ends_with_window(std::size_t i) const {
    const Limit& limit = policy_.limits[i];
    if (limit.algorithm == Algorithm::token_bucket) return false;
    const Duration end = window_at(limit, state_.limits[i].time).end - now_;
    const VendorObservation::OfLimit& report = seen_.limits[i];
    return report.hold - report.resolution <= end && end <= report.hold;
  }

  /// What was left before our window began says nothing of it: a call that was sent then has most likely been
  /// counted then, unless its reset tells otherwise.
  [[nodiscard]] bool of_window_before(std::size_t i) const {
    const VendorObservation::OfLimit& report = seen_.limits[i];
    const WallTime start = state_.limits[i].time;
    if (policy_.limits[i].algorithm == Algorithm::token_bucket || sent_ >= start) return false;
    return report.hold < Duration{0} || sent_ + report.hold - report.resolution <= start;
  }

  /// Units of calls that the vendor may not have counted when it answered.
  [[nodiscard]] Units in_flight(std::size_t i) const {
    Units units = 0;
    for (auto permit = state_.permits.rbegin(); permit != state_.permits.rend(); ++permit) {
      if (sent_known_ && permit->id.acquired < sent_ - kArrivalGuard) break;
      units += permit->costs[i];
    }
    return units;
  }

  VendorState& state_;
  const VendorPolicy& policy_;
  const VendorObservation& seen_;
  WallTime now_;
  WallTime sent_;
  bool sent_known_ = false;
  VendorEffect effect_;
};

}  // namespace

Result<VendorEffect> observe(VendorState& state, const VendorPolicy& policy, const VendorObservation& seen,
                             WallTime now) {
  const auto at = enter(state, policy, now);
  if (!at) return std::unexpected(at.error());
  return Observing(state, policy, seen, *at).run();
}

}  // namespace dripgate::core
