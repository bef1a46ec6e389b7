// A key's bookings for a person, and how long a backend must remember them.
#include <algorithm>

#include "core/booking_book.h"
#include "core/fixed_window.h"

namespace dripgate::core {
namespace {

/// A key may be asked for again this long after everything it holds is over.
constexpr Duration kStateKept = std::chrono::hours{24};

WallTime holding_ends(const Limit& limit, const Holding& holding) {
  if (limit.algorithm == Algorithm::sliding_log)
    return holding.log.empty() ? kLongAgo : holding.log.back().at + limit.window;
  if (limit.algorithm == Algorithm::token_bucket) return holding.at + Duration{1};
  return holding.units > 0 ? window_end(limit, holding.at) : kLongAgo;
}

}  // namespace

KeyView inspect(const KeyState& state, const BookingPolicy& policy, WallTime now) {
  KeyState copy = state;
  KeyView view;
  view.now = view.next_slot = std::max(now, state.last_seen);
  KeyBook book(copy, policy, PlanRule{});
  if (!book.enter(view.now)) return view;
  if (copy.frozen_until > view.now) view.frozen_until = copy.frozen_until;
  view.pending = copy.pending();
  if (view.pending > 0) view.last_slot = copy.tail.at;
  for (std::size_t i = 0; i < policy.limits.size(); ++i) view.released.push_back(book.released_units(i));
  BookingPolicy unbounded = policy;
  unbounded.max_delay = kNeverEnds - view.now;
  std::optional<EventRecord> none;
  const auto next = reserve(copy, none, unbounded, ReserveInput{}, view.now);
  view.next_slot = next && next->outcome != ReserveOutcome::impossible ? next->slot : kNeverEnds;
  return view;
}

WallTime record_expiry(const EventRecord& record, const BookingPolicy& policy, WallTime now) {
  return std::max(record.slot, now) + policy.id_retention;
}

WallTime state_expiry(const KeyState& state, const BookingPolicy& policy, WallTime now) {
  WallTime last = std::max({now, state.last_seen, state.tail.at, state.frozen_until, state.unknown_until});
  if (state.repair_kind != RepairKind::none) last = std::max(last, state.repair.at);
  for (std::size_t i = 0; i < std::min(policy.limits.size(), state.released.size()); ++i)
    last = std::max(last, holding_ends(policy.limits[i], state.released[i]));
  return last + policy.max_delay + kStateKept;
}

}  // namespace dripgate::core
