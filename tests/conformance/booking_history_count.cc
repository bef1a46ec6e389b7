// BookingHistory: the naive count over everything that was released.
#include "conformance/booking_history.h"
#include "core/fixed_window.h"

namespace dripgate::testing {

std::string BookingHistory::released(const Event& event) {
  ++reached_.released;
  const WallTime frozen = frozen_.contains(event.ticket.key) ? frozen_.at(event.ticket.key) : kLongAgo;
  if (world_.seen < frozen) return "released while frozen";
  releases_.push_back({event.ticket.key + "/" + event.ticket.event_id, event.ticket.slot, event.ticket.cost});
  return exceeded(event.ticket.key);
}

core::Units BookingHistory::released_within(const std::string& key, WallTime from, WallTime to) const {
  core::Units units = 0;
  for (const Release& release : releases_) {
    if (release.key.starts_with(key + "/") && release.at >= from && release.at < to) units += release.units;
  }
  return units;
}

/// Counts every release in the windows that hold now, against the limits in force now.
std::string BookingHistory::exceeded(const std::string& key) const {
  const WallTime now = world_.seen;
  for (const core::Limit& limit : policy_->limits) {
    core::Units allowed = limit.limit;
    WallTime from = now - limit.window + Duration{1};
    if (limit.algorithm == core::Algorithm::fixed_window) from = core::window_start(limit, now);
    if (limit.algorithm == core::Algorithm::token_bucket) {
      if (limits_changed_) continue;           // what a bucket owes across changes is core's own test
      allowed = limit.capacity + limit.limit;  // in any span of one refill period
    }
    const core::Units units = released_within(key, from, now + Duration{1});
    if (units > allowed) {
      return std::to_string(units) + " released in a window that holds " + std::to_string(allowed);
    }
  }
  return {};
}

}  // namespace dripgate::testing
