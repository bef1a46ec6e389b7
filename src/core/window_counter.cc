// See the header.
#include "core/window_counter.h"

#include <algorithm>

#include "core/window_counter_math.h"

namespace dripgate::core::window_counter {
namespace {

bool same_windows(const CounterState& state, const Limit& limit) {
  return state.exists && state.written.algorithm == Algorithm::fixed_window &&
         state.written.calendar == (limit.zone != nullptr) && state.written.window == limit.window;
}

}  // namespace

Step evaluate(const CounterState& state, const Limit& limit, Units cost, WallTime now) {
  PackedState before{kLongAgo, 0};
  if (same_windows(state, limit)) before = {state.time, state.value};
  Step step;
  const PackedState after = evaluate_packed(before, limit, window_at(limit, now), cost, now, step.outcome);
  step.time = after.time;
  step.value = after.value;
  return step;
}

bool refund(CounterState& state, const Limit& limit, Units cost, WallTime consumed_at, WallTime now) {
  if (!same_windows(state, limit)) return false;
  const Window window = window_at(limit, consumed_at);
  if (state.time != window.start || now >= window.end || state.value == 0) return false;
  state.value = std::max<Units>(0, state.value - cost);  // 0 too: the window must not be forgotten
  return true;
}

}  // namespace dripgate::core::window_counter
