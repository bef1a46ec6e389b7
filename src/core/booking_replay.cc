// How the tail follows the clock: when everything outstanding is overdue it is put at the end of a replay of
// what is pending, from what was really released. O(limits) steps for windows that nest.
#include <algorithm>
#include <utility>

#include "core/booking_book.h"
#include "core/booking_limit.h"
#include "core/fixed_window.h"

namespace dripgate::core {
namespace {

/// count windows after t; never past the end of time, however low a limit was set under a large backlog.
WallTime windows_later(WallTime t, Units count, Duration window) {
  const Wide at = Wide{to_us(t)} + Wide{count} * window.count();
  return from_us(saturate(std::min<Wide>(at, to_us(kNeverEnds))));
}

}  // namespace

void KeyBook::anchor(WallTime from) {
  // Strictly ahead: a tail at now with units pending would let a newcomer pass the overdue.
  if (state_.tail.at > from && state_.pending() > 0) return;
  if (state_.pending() == 0) {
    start_from_releases(state_.tail, from);
    state_.repair_kind = RepairKind::none;
    state_.repair = {};
    return;
  }
  age_pending();
  ++state_.epoch;
  state_.repair_kind = RepairKind::replay;
  start_from_releases(state_.repair, from);
  state_.tail = state_.repair;
  // Behind a freeze nobody goes at once, so buckets are replayed at their planned rate: no volley at its end.
  replay(state_.tail, state_.pending(), from > now());
}

void KeyBook::start_from_releases(Cursor& cursor, WallTime from) const {
  cursor.at = from;
  cursor.holdings.resize(policy_.limits.size());
  for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
    Holding& holding = cursor.holdings[i];
    holding.at = state_.released[i].at;
    holding.units = state_.released[i].units;
    holding.log.clear();
    if (!is_fixed(i)) continue;
    const WallTime start = window_start(policy_.limits[i], from);
    if (holding.at < start) holding = {start, 0, {}};
  }
}

void KeyBook::age_pending() {
  if (now() - state_.leak_since < kLostTimerAge) return;
  state_.pending_old = state_.pending_new;
  state_.pending_new = 0;
  ++state_.leak;
  state_.leak_since = now();
}

void KeyBook::replay(Cursor& cursor, Units units, bool drain) const {
  if (replay_bucket(cursor, units, drain)) return;
  const Nest nested = nest();
  for (int round = 0; units > 0 && cursor.at < kNeverEnds; ++round) {
    if (round == kReplayRoundsMax) return jump(cursor, units);
    cursor.at = place(cursor, cursor.at, 1, Spread::start).at;
    if (const Units skipped = skip_windows(nested, cursor, units); skipped > 0) {
      units -= skipped;
      continue;
    }
    const Units fit = fitting(cursor, units, drain);
    add(cursor, cursor.at, fit, drain);
    units -= fit;
  }
}

/// How many of the units go together where the cursor stands.
Units KeyBook::fitting(const Cursor& cursor, Units units, bool drain) const {
  for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
    const bool one_by_one =
        drain && rule_.drain_bucket && policy_.limits[i].algorithm == Algorithm::token_bucket;
    units = std::min(units, one_by_one ? 1 : room(i, &cursor, cursor.at, Numbers::plan));
  }
  return std::max<Units>(units, 1);
}

bool KeyBook::replay_bucket(Cursor& cursor, Units units, bool drain) const {
  if (policy_.limits.size() != 1 || policy_.limits[0].algorithm != Algorithm::token_bucket) return false;
  const Limit& limit = policy_.limits[0];
  Holding& bucket = cursor.holdings[0];
  const auto place_one = [&] {
    cursor.at = bucket_next(limit, bucket, cursor.at, 1);
    add(0, bucket, cursor.at, 1, drain);
  };
  if (units > 0) place_one();
  if (units > 1) {
    bucket_add(limit, bucket, cursor.at, units - 2, limit.capacity);
    place_one();
  }
  return true;
}

KeyBook::Nest KeyBook::nest() const {
  Nest result;
  const auto& limits = policy_.limits;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!is_fixed(i)) return result;
    if (!limits[i].zone) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair{limits[i].window, i}; });
  for (const std::size_t i : order) {
    Units capacity = limits[i].limit;
    if (!result.order.empty()) {
      const Duration shorter = limits[result.order.back()].window;
      if (limits[i].window % shorter != Duration{0}) break;
      const Wide filled = Wide{limits[i].window / shorter} * result.capacity.back();
      capacity = std::min(capacity, saturate(filled));
    }
    result.order.push_back(i);
    result.capacity.push_back(capacity);
  }
  return result;
}

bool KeyBook::empty_from(const Nest& nest, std::size_t level, const Cursor& cursor) const {
  return std::ranges::all_of(nest.order.begin(), nest.order.begin() + level + 1, [&](std::size_t i) {
    return window_start(policy_.limits[i], cursor.at) == cursor.at &&
           window_room(policy_.limits[i], cursor.holdings[i], cursor.at) == policy_.limits[i].limit;
  });
}

Units KeyBook::skip_windows(const Nest& nest, Cursor& cursor, Units units) const {
  for (std::size_t level = nest.order.size(); level-- > 0;) {
    if (!empty_from(nest, level, cursor)) continue;
    const auto whole = nest.order.begin() + level + 1;
    const auto skipped_whole = [&](std::size_t i) {
      return std::find(nest.order.begin(), whole, i) != whole;
    };
    const Units capacity = nest.capacity[level];
    const Duration window = policy_.limits[nest.order[level]].window;
    Units count = (units - 1) / capacity;  // leaves a unit for the exact placement
    for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
      if (skipped_whole(i)) continue;
      const Units left = window_room(policy_.limits[i], cursor.holdings[i], cursor.at);
      count =
          std::min({count, left / capacity, (window_end(policy_.limits[i], cursor.at) - cursor.at) / window});
    }
    if (count < 1) continue;
    const WallTime behind = windows_later(cursor.at, count, window);
    for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
      if (skipped_whole(i))
        cursor.holdings[i] = {window_start(policy_.limits[i], behind), 0, {}};
      else
        window_add(policy_.limits[i], cursor.holdings[i], cursor.at, count * capacity);
    }
    cursor.at = behind;
    return count * capacity;
  }
  return 0;
}

void KeyBook::jump(Cursor& cursor, Units units) const {
  std::vector<Reach> reaches;
  WallTime t = cursor.at;
  for (std::size_t i = 0; i < policy_.limits.size(); ++i) {
    reaches.push_back(reach_alone(i, cursor, units));
    t = std::max(t, reaches.back().at);
  }
  for (std::size_t i = 0; i < policy_.limits.size(); ++i) stand(i, cursor, reaches[i], t, units);
  cursor.at = t;
}

/// When limit i alone would have placed the units: a lower bound of when all limits together do. Too early
/// costs moves at the gate, never a limit.
KeyBook::Reach KeyBook::reach_alone(std::size_t i, const Cursor& cursor, Units units) const {
  const Limit& limit = policy_.limits[i];
  if (limit.algorithm == Algorithm::fixed_window) return reach_windows(i, cursor, units);
  if (limit.algorithm == Algorithm::sliding_log) {
    const Units per_window = log_limit(i, Numbers::plan);
    const WallTime first = next(i, &cursor, cursor.at, 1, Numbers::plan);
    return {windows_later(first, (units - 1) / per_window, limit.window), (units - 1) % per_window + 1};
  }
  Holding bucket = cursor.holdings[i];
  bucket_add(limit, bucket, cursor.at, units - 1, limit.capacity);
  return {bucket_next(limit, bucket, cursor.at, 1), 0};
}

KeyBook::Reach KeyBook::reach_windows(std::size_t i, const Cursor& cursor, Units units) const {
  const Limit& limit = policy_.limits[i];
  const Units left = std::max<Units>(0, window_room(limit, cursor.holdings[i], cursor.at));
  if (units <= left) return {cursor.at, limit.limit - left + units};
  const Units whole = (units - left - 1) / limit.limit;
  const Units rest = units - left - whole * limit.limit;
  WallTime at = window_end(limit, cursor.at);
  if (!limit.zone) return {windows_later(at, whole, limit.window), rest};
  // Calendar days one by one; behind the horizon nobody books any more.
  const WallTime stop = std::max(now(), cursor.at) + policy_.max_delay;
  for (Units day = 0; day < whole && at <= stop; ++day) at = window_end(limit, at);
  return {at, rest};
}

void KeyBook::stand(std::size_t i, Cursor& cursor, const Reach& reach, WallTime t, Units units) const {
  const Limit& limit = policy_.limits[i];
  Holding& holding = cursor.holdings[i];
  if (limit.algorithm == Algorithm::token_bucket)
    return bucket_add(limit, holding, cursor.at, units, limit.capacity);
  if (limit.algorithm == Algorithm::sliding_log) {
    holding.log = {{t, reach.units}};
    return;
  }
  const WallTime start = window_start(limit, t);
  holding = {start, window_start(limit, reach.at) == start ? reach.units : 0, {}};
}

}  // namespace dripgate::core
