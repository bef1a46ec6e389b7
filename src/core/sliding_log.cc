// See the header. The log is pruned by time only, and only when an admission is written: a denial that pruned
// would forget units which a clock stepping back would have to count again.
#include "core/sliding_log.h"

#include <algorithm>
#include <cstddef>

namespace dripgate::core::sliding_log {
namespace {

struct Live {
  std::span<const RunLog::Entry> entries;
  std::size_t dropped = 0;
  Units units = 0;
};

/// The entries with time in (t - window, ...). Later than t is possible only after the clock stepped back;
/// those count too.
Live live_at(const CounterState& state, Duration window, WallTime t) {
  Live live{.entries = state.log.entries(), .units = state.log.total()};
  while (live.dropped < live.entries.size() && live.entries[live.dropped].time <= t - window)
    live.units -= live.entries[live.dropped++].units;
  live.entries = live.entries.subspan(live.dropped);
  return live;
}

/// The first instant at which at most `allowed` of the live units are still in the window.
WallTime shrunk_at(const Live& live, Duration window, Units allowed) {
  Units units = live.units;
  for (const RunLog::Entry& entry : live.entries) {
    units -= entry.units;
    if (units <= allowed) return entry.time + window;
  }
  return kNeverEnds;  // not reached: allowed >= 0
}

}  // namespace

Step evaluate(const CounterState& state, const Limit& limit, Units cost, WallTime now) {
  const bool carries =
      state.exists && state.written.algorithm == Algorithm::sliding_log && forgettable_at(state) > now;
  const WallTime t = carries ? std::max(now, state.time) : now;
  Live live;
  live.dropped = state.log.entries().size();
  if (carries) live = live_at(state, limit.window, t);
  Step step;
  step.time = t;
  step.dropped = live.dropped;
  LimitOutcome& outcome = step.outcome;
  const Units asked = std::max<Units>(cost, 1);
  const Units room = std::max<Units>(0, limit.limit - live.units);
  outcome.remaining = room;
  if (!live.entries.empty()) outcome.reset_after = live.entries.back().time + limit.window - now;
  if (limit.limit > 0 && asked > limit.limit) {
    outcome.verdict = Verdict::impossible;
  } else if (asked > room) {
    outcome.verdict = Verdict::deny;
    if (limit.limit > 0) outcome.retry_after = shrunk_at(live, limit.window, limit.limit - asked) - now;
  } else if (cost > 0) {
    outcome.remaining = room - cost;
    outcome.reset_after = t + limit.window - now;
  }
  return step;
}

/// A refusal under a longer window promised a wait that the log must live to see.
bool adopt(CounterState& state, const Limit& limit, WallTime now) {
  const WrittenUnder numbers = written_under(limit);
  if (state.written == numbers || forgettable_at(state) <= now) return false;
  state.written = numbers;
  return true;
}

/// `consumed_at` is the first time of a request whose charges may lie on several nodes: its units are there
/// at that time or a little later. Those that are given back are at most as late as its own, so that no
/// window holds fewer than were admitted and kept. (Where its own were lost with the key, another's may go.)
bool refund(CounterState& state, Units cost, WallTime consumed_at, WallTime now) {
  if (consumed_at <= std::max(now, state.time) - state.written.window) return false;
  return state.log.take_out(consumed_at, cost) > 0;
}

WallTime forgettable_at(const CounterState& state) {
  return state.time + state.written.window;
}

}  // namespace dripgate::core::sliding_log
