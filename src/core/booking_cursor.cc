// KeyBook's questions: room and next of a cursor over all limits, and the place of a booking.
#include <algorithm>

#include "core/booking_book.h"
#include "core/booking_limit.h"
#include "core/fixed_window.h"

namespace dripgate::core {
namespace {

// A cursor holds one window per limit and so do the releases: each limit moves a place about twice.
constexpr int kPlaceRoundsMax = 8 * static_cast<int>(kLimitsPerPolicyMax);

}  // namespace

const Holding& KeyBook::holding(std::size_t i, const Cursor* cursor) const {
  return cursor == nullptr ? state_.released[i] : cursor->holdings[i];
}

Units KeyBook::log_limit(std::size_t i, Numbers numbers) const {
  const Units limit = policy_.limits[i].limit;
  if (numbers == Numbers::gate) return limit;
  // A cost above the planned limit waits until the span is empty, as log_next does it.
  return std::max<Units>(1, limit - ceil_div<Units>(limit * rule_.log_headroom_percent, 100));
}

Units KeyBook::room(std::size_t i, const Cursor* cursor, WallTime t, Numbers numbers) const {
  const Limit& limit = policy_.limits[i];
  switch (limit.algorithm) {
    case Algorithm::fixed_window:
      return window_room(limit, holding(i, cursor), t);
    case Algorithm::token_bucket:
      return bucket_room(limit, holding(i, cursor), t);
    case Algorithm::sliding_log:
      break;
  }
  const auto* planned = cursor == nullptr ? nullptr : &cursor->holdings[i].log;
  return log_limit(i, numbers) - log_units(limit.window, state_.released[i].log, planned, t);
}

WallTime KeyBook::next(std::size_t i, const Cursor* cursor, WallTime t, Units cost, Numbers numbers) const {
  const Limit& limit = policy_.limits[i];
  switch (limit.algorithm) {
    case Algorithm::fixed_window:
      return window_next(limit, holding(i, cursor), t, cost);
    case Algorithm::token_bucket:
      return bucket_next(limit, holding(i, cursor), t, cost);
    case Algorithm::sliding_log:
      break;
  }
  const auto* planned = cursor == nullptr ? nullptr : &cursor->holdings[i].log;
  return log_next(limit.window, log_limit(i, numbers), state_.released[i].log, planned, t, cost);
}

bool KeyBook::all_have_room(const Cursor* cursor, Units cost) const {
  for (std::size_t i = 0; i < policy_.limits.size(); ++i)
    if (room(i, cursor, now(), Numbers::gate) < cost) return false;
  return true;
}

void KeyBook::add(std::size_t i, Holding& holding, WallTime t, Units units, bool drain) const {
  const Limit& limit = policy_.limits[i];
  switch (limit.algorithm) {
    case Algorithm::fixed_window:
      return window_add(limit, holding, t, units);
    case Algorithm::token_bucket:
      return bucket_add(limit, holding, t, units, drain && rule_.drain_bucket ? 1 : limit.capacity);
    case Algorithm::sliding_log:
      return log_add(limit.window, holding.log, t, units);
  }
}

void KeyBook::add(Cursor& cursor, WallTime t, Units units, bool drain) const {
  cursor.at = std::max(cursor.at, t);
  for (std::size_t i = 0; i < policy_.limits.size(); ++i) add(i, cursor.holdings[i], t, units, drain);
}

std::optional<std::size_t> KeyBook::impossible(Units cost) const {
  for (std::size_t i = 0; i < policy_.limits.size(); ++i)
    if (cost > policy_.limits[i].max_cost()) return i;
  return std::nullopt;
}

bool KeyBook::may_release(Units cost) const {
  return now() >= state_.frozen_until && all_have_room(nullptr, cost);
}

bool KeyBook::newcomer_may_pass(Units cost) const {
  return state_.tail.at <= now() && may_release(cost) && all_have_room(&state_.tail, cost);
}

WallTime KeyBook::release_valid_until(WallTime at) const {
  WallTime until = at + kReleaseLease;
  for (std::size_t i = 0; i < policy_.limits.size(); ++i)
    if (is_fixed(i)) until = std::min(until, window_end(policy_.limits[i], at));
  return until;
}

Units KeyBook::released_units(std::size_t i) const {
  const Limit& limit = policy_.limits[i];
  if (limit.algorithm == Algorithm::sliding_log)
    return log_units(limit.window, state_.released[i].log, nullptr, now());
  return limit.max_cost() - room(i, nullptr, now(), Numbers::gate);
}

Placement KeyBook::place(const Cursor& cursor, WallTime from, Units cost, Spread spread) const {
  WallTime t = std::max(cursor.at, from);
  std::optional<std::size_t> mover;
  for (int round = 0; round < kPlaceRoundsMax; ++round) {
    const WallTime before = t;
    for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
      // Plan and reality: a slot that the gate must refuse would be rebooked for ever.
      const WallTime moved = next(i, nullptr, next(i, &cursor, t, cost, Numbers::plan), cost, Numbers::gate);
      if (moved != t) mover = i;
      t = moved;
    }
    if (t != before) continue;
    // Checked again in the next round: the offset may enter another limit's window.
    if (spread == Spread::even && shortest_) t = std::max(t, spread_offset(cursor, t));
    if (t == before) break;
  }
  return {t, mover ? *mover : deciding_limit(t)};
}

WallTime KeyBook::spread_offset(const Cursor& cursor, WallTime t) const {
  const Limit& limit = policy_.limits[*shortest_];
  const WallTime start = window_start(limit, t);
  const Units taken = limit.limit - window_room(limit, cursor.holdings[*shortest_], t);
  const Duration span = window_end(limit, t) - start;
  return start + Duration{saturate(Wide{taken} * span.count() / limit.limit)};
}

std::size_t KeyBook::deciding_limit(WallTime t) const {
  if (!shortest_) return 0;
  // The booking continues a window: what opened it is the longest window that begins with it.
  const WallTime start = window_start(policy_.limits[*shortest_], t);
  std::size_t longest = *shortest_;
  for (std::size_t i = 0; i < policy_.limits.size(); ++i)
    if (is_fixed(i) && policy_.limits[i].window > policy_.limits[longest].window &&
        window_start(policy_.limits[i], t) == start)
      longest = i;
  return longest;
}

bool KeyBook::is_fixed(std::size_t i) const {
  return policy_.limits[i].algorithm == Algorithm::fixed_window;
}

}  // namespace dripgate::core
