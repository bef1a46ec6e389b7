// See the header.
#include "core/window_counter.h"

#include <algorithm>

#include "core/fixed_window.h"

namespace dripgate::core::window_counter {
namespace {

struct Window {
  WallTime start;
  WallTime end;
};
Window window_at(const Limit& limit, WallTime t) {
  if (limit.zone) {
    const Zone::Day day = limit.zone->day_at(t);
    return {day.start, day.end};
  }
  const WallTime start = window_start(limit, t);
  return {start, start + limit.window};
}

bool same_windows(const CounterState& state, const Limit& limit) {
  return state.exists && state.written.algorithm == Algorithm::fixed_window &&
         state.written.calendar == (limit.zone != nullptr) && state.written.window == limit.window;
}

/// `state.value` units used in the window that starts at `state.time`.
PackedState decide(PackedState state, const Limit& limit, Units cost, WallTime now, LimitOutcome& outcome) {
  // A clock that stepped back over a window's edge stays in the later window: a second full one for the time
  // before it would admit twice the limit there.
  const Window window = window_at(limit, std::max(now, state.time));
  // Another zone has other starts: its usage does not carry.
  const Units used = state.time == window.start ? state.value : 0;
  const Units asked = std::max<Units>(cost, 1);
  const Units room = std::max<Units>(0, limit.limit - used);
  outcome.verdict = Verdict::allow;
  outcome.retry_after.reset();
  outcome.remaining = room;
  outcome.reset_after = window.end - now;
  if (limit.limit > 0 && asked > limit.limit) {
    outcome.verdict = Verdict::impossible;
  } else if (asked > room) {
    outcome.verdict = Verdict::deny;
    if (limit.limit > 0) outcome.retry_after = outcome.reset_after;
  } else if (cost > 0) {
    outcome.remaining = room - cost;
    return {window.start, used + cost};
  }
  return {window.start, used};
}

}  // namespace

Step evaluate(const CounterState& state, const Limit& limit, Units cost, WallTime now) {
  PackedState before{kLongAgo, 0};
  if (same_windows(state, limit)) before = {state.time, state.value};
  Step step;
  const PackedState after = decide(before, limit, cost, now, step.outcome);
  step.time = after.time;
  step.value = after.value;
  return step;
}

PackedState evaluate_packed(PackedState state, const Limit& limit, Units cost, WallTime now,
                            LimitOutcome& outcome) {
  return decide(state, limit, cost, now, outcome);
}

bool refund(CounterState& state, const Limit& limit, Units cost, WallTime consumed_at, WallTime now) {
  if (!same_windows(state, limit)) return false;
  const Window window = window_at(limit, consumed_at);
  if (state.time != window.start || now >= window.end || state.value == 0) return false;
  state.value = std::max<Units>(0, state.value - cost);  // 0 too: the window must not be forgotten
  return true;
}

}  // namespace dripgate::core::window_counter
