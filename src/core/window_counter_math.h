// The arithmetic of the fixed window, inline for core/window_counter and for the hot path of the memory
// store. Pure.
#pragma once

#include <algorithm>

#include "core/counter.h"
#include "core/fixed_window.h"

namespace dripgate::core::window_counter {

/// core/counter.h, evaluate_packed, with `current` = window_at(limit, now): the same for every key of a
/// limit, and finding it divides. `state.value` units are used in the window that starts at `state.time`.
inline PackedState evaluate_packed(PackedState state, const Limit& limit, const Window& current, Units cost,
                                   WallTime now, LimitOutcome& outcome) {
  // A clock that stepped back over a window's edge stays in the later window: a second full one for the time
  // before it would admit twice the limit there.
  const Window window = state.time <= now ? current : window_at(limit, state.time);
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

}  // namespace dripgate::core::window_counter
