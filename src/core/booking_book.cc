// KeyBook's moves: charging releases, booking, unbooking, and keeping the cursors true to what was released.
#include "core/booking_book.h"

#include <algorithm>

#include "core/booking_limit.h"
#include "core/fixed_window.h"

namespace dripgate::core {

KeyBook::KeyBook(KeyState& state, const BookingPolicy& policy, const PlanRule& rule)
    : state_(state), policy_(policy), rule_(rule) {
  std::size_t fixed = 0;
  std::optional<std::size_t> longest;
  for (std::size_t i = 0; i < policy.limits.size(); ++i) {
    if (!is_fixed(i)) continue;
    ++fixed;
    const Duration window = policy.limits[i].window;
    if (!shortest_ || window < policy.limits[*shortest_].window) shortest_ = i;
    if (!longest || window >= policy.limits[*longest].window) longest = i;
  }
  if (fixed > 1) top_ = longest;
}

Result<WallTime> KeyBook::enter(WallTime now) {
  if (state_.last_seen - now > kClockClampMax)
    return fail(ErrorCode::clock_stepped_back,
                "store clock: it is " + std::to_string((state_.last_seen - now).count()) +
                    " us behind the last time seen for this key; up to " +
                    std::to_string(kClockClampMax.count()) + " us is accepted",
                true);
  if (state_.last_seen == kLongAgo) {
    // Records may outlive a reset key: counting from the clock keeps their epochs foreign to this state.
    const auto second = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    state_.epoch = state_.leak = static_cast<std::uint32_t>(second);
  }
  state_.last_seen = std::max(state_.last_seen, now);
  adapt();
  return state_.last_seen;
}

void KeyBook::charge_newcomer(Units cost) {
  add(state_.tail, now(), cost, false);
  for (std::size_t i = 0; i < policy_.limits.size(); ++i) add(i, state_.released[i], now(), cost, false);
  sync(state_.tail);
  if (state_.repair_kind != RepairKind::none) sync(state_.repair);
}

void KeyBook::charge(Units cost, const EventRecord* booking) {
  for (std::size_t i = 0; i < policy_.limits.size(); ++i) add(i, state_.released[i], now(), cost, false);
  charge_tail(cost, booking);
  if (state_.repair_kind != RepairKind::none) charge_repair(cost, booking);
}

/// A release that was not planned in this window takes room from those that are.
void KeyBook::charge_tail(Units cost, const EventRecord* booking) {
  if (booking == nullptr || (current(*booking) && !booking->via_repair))
    for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
      Holding& holding = state_.tail.holdings[i];
      if (!is_fixed(i) || holding.at != window_start(policy_.limits[i], now())) continue;
      const bool counted = booking != nullptr && window_start(policy_.limits[i], booking->slot) == holding.at;
      if (!counted) holding.units += cost;
    }
  sync(state_.tail);
}

void KeyBook::charge_repair(Units cost, const EventRecord* booking) {
  const bool planned = booking != nullptr && current(*booking) &&
                       (booking->via_repair || state_.repair_kind == RepairKind::crossing);
  for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
    Holding& holding = state_.repair.holdings[i];
    if (!is_fixed(i) || holding.at != window_start(policy_.limits[i], now())) continue;
    const bool counted = planned && window_start(policy_.limits[i], booking->slot) == holding.at;
    if (!counted) holding.units += cost;
  }
  sync(state_.repair);
}

/// A cursor never claims less than what was really released.
void KeyBook::sync(Cursor& cursor) const {
  for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
    const Limit& limit = policy_.limits[i];
    const Holding& real = state_.released[i];
    Holding& plan = cursor.holdings[i];
    switch (limit.algorithm) {
      case Algorithm::fixed_window:
        if (plan.at == real.at) plan.units = std::max(plan.units, real.units);
        break;
      case Algorithm::token_bucket:
        if (arrival(limit, plan) < arrival(limit, real)) plan = real;
        break;
      case Algorithm::sliding_log:  // the past is real, only the future is planned
        std::erase_if(plan.log, [&](const LogEntry& entry) { return entry.at <= now(); });
        break;
    }
  }
}

/// Before a booking at `slot`: the tail leaves a largest window that is not over; late events of that window
/// keep the room where it stood.
void KeyBook::cross(WallTime slot) {
  if (!top_ || state_.tail.at < now()) return;
  const Limit& top = policy_.limits[*top_];
  if (window_start(top, slot) <= window_start(top, state_.tail.at)) return;
  if (state_.repair_kind != RepairKind::none &&
      window_start(top, state_.repair.at) >= window_start(top, now()))
    return;
  state_.repair = state_.tail;
  state_.repair_kind = RepairKind::crossing;
}

void KeyBook::book_at_tail(EventRecord& record, WallTime slot) {
  cross(slot);
  add(state_.tail, slot, record.cost, true);
  set_booked(record, slot, false);
}

void KeyBook::book_again(EventRecord& record, const Rebooking& rebooking) {
  if (!rebooking.via_repair) return book_at_tail(record, rebooking.place.at);
  add(state_.repair, rebooking.place.at, record.cost, true);
  set_booked(record, rebooking.place.at, true);
  ++record.repairs;
}

void KeyBook::set_booked(EventRecord& record, WallTime slot, bool via_repair) {
  state_.pending_new += record.cost;
  record.state = EventState::booked;
  record.slot = slot;
  record.epoch = state_.epoch;
  record.leak = state_.leak;
  record.via_repair = via_repair;
  record.lease_waits = 0;
}

Rebooking KeyBook::search_again(const EventRecord& record, WallTime from) {
  const Rebooking tail{place(state_.tail, from, record.cost, policy_.spread), false};
  if (!may_repair(record, from)) return tail;
  if (state_.repair.at < from) catch_up_repair(from);
  const Rebooking kept{place(state_.repair, from, record.cost, policy_.spread), true};
  return kept.place.at <= tail.place.at ? kept : tail;
}

/// Overdue units of a replayed backlog, and events whose largest window is still running while the tail has
/// left it.
bool KeyBook::may_repair(const EventRecord& record, WallTime from) const {
  if (state_.repair_kind == RepairKind::none || record.repairs >= kRepairsMax) return false;
  if (record.epoch != state_.epoch) return true;
  if (!top_) return false;
  const Limit& top = policy_.limits[*top_];
  const WallTime running = window_start(top, from);
  return window_start(top, record.slot) == running && running < window_start(top, state_.tail.at);
}

void KeyBook::catch_up_repair(WallTime from) {
  for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
    const Limit& limit = policy_.limits[i];
    const Holding& real = state_.released[i];
    Holding& kept = state_.repair.holdings[i];
    if (limit.algorithm == Algorithm::token_bucket && arrival(limit, kept) < arrival(limit, real))
      kept = real;
    if (!is_fixed(i)) continue;
    const WallTime start = window_start(limit, from);
    if (kept.at < start) kept = {start, real.at == start ? real.units : 0, {}};
  }
}

void KeyBook::unbook(const EventRecord& record) {
  if (!current(record)) return;
  if (!record.via_repair && state_.repair_kind == RepairKind::crossing && record.slot <= state_.repair.at)
    for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
      Holding& copied = state_.repair.holdings[i];
      if (is_fixed(i) && copied.at == window_start(policy_.limits[i], record.slot))
        copied.units = std::max<Units>(0, copied.units - record.cost);
    }
  if (!record.via_repair)
    unbook_from(state_.tail, record);
  else if (state_.repair_kind != RepairKind::none)
    unbook_from(state_.repair, record);
}

void KeyBook::unbook_from(Cursor& cursor, const EventRecord& record) const {
  for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
    const Limit& limit = policy_.limits[i];
    Holding& holding = cursor.holdings[i];
    switch (limit.algorithm) {
      case Algorithm::fixed_window:
        if (holding.at == window_start(limit, record.slot))
          holding.units = std::max<Units>(0, holding.units - record.cost);
        break;
      case Algorithm::token_bucket:
        if (record.slot == cursor.at)
          set_arrival(limit.limit, holding,
                      arrival(limit, holding) - Wide{record.cost} * limit.window.count());
        break;
      case Algorithm::sliding_log:
        log_remove(holding.log, record.slot, record.cost);
        break;
    }
  }
  sync(cursor);
}

void KeyBook::resolve(const EventRecord& record) {
  if (record.leak == state_.leak)
    state_.pending_new = std::max<Units>(0, state_.pending_new - record.cost);
  else if (record.leak + 1 == state_.leak)
    state_.pending_old = std::max<Units>(0, state_.pending_old - record.cost);
}

void KeyBook::mark_history_unknown() {
  for (const Limit& limit : policy_.limits) {
    WallTime until = now() + limit.window;
    if (limit.algorithm == Algorithm::fixed_window) until = window_end(limit, now());
    if (limit.algorithm == Algorithm::token_bucket && limit.limit > 0)
      until = now() +
              Duration{saturate(ceil_div<Wide>(Wide{limit.capacity} * limit.window.count(), limit.limit))};
    state_.unknown_until = std::max(state_.unknown_until, until);
  }
}

bool KeyBook::current(const EventRecord& record) const {
  return record.epoch == state_.epoch && record.leak == state_.leak;
}

}  // namespace dripgate::core
