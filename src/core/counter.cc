// One limit at a time: dispatch by algorithm, and the log container.
#include "core/counter.h"

#include <algorithm>

#include "core/fixed_window.h"
#include "core/sliding_log.h"
#include "core/token_bucket.h"
#include "core/token_bucket_math.h"
#include "core/window_counter.h"
#include "core/window_counter_math.h"

namespace dripgate::core {

void RunLog::append(WallTime time, Units units) {
  total_ += units;
  if (entries_.size() > dropped_ && entries_.back().time == time) {
    entries_.back().units += units;
  } else {
    entries_.push_back({time, units});
  }
}

void RunLog::drop_front(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) total_ -= entries_[dropped_ + i].units;
  dropped_ += count;
  if (dropped_ * 2 < entries_.size()) return;  // moving the rest is paid by the entries that left
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(dropped_));
  dropped_ = 0;
}

Units RunLog::take_out(WallTime time, Units units) {
  const auto live = entries_.begin() + static_cast<std::ptrdiff_t>(dropped_);
  const auto first =
      std::lower_bound(live, entries_.end(), time, [](const Entry& e, WallTime t) { return e.time < t; });
  Units left = units;
  auto entry = first;
  for (; entry != entries_.end() && entry->time <= time + sliding_log::kTakenLaterMax && left > 0; ++entry) {
    const Units taken = std::min(left, entry->units);
    entry->units -= taken;
    left -= taken;
    if (entry->units > 0) break;
  }
  entries_.erase(first, entry);
  total_ -= units - left;
  return units - left;
}

WrittenUnder written_under(const Limit& limit) {
  return {.algorithm = limit.algorithm,
          .calendar = limit.zone != nullptr,
          .limit = limit.limit,
          .window = limit.window,
          .capacity = limit.capacity};
}

Step evaluate(const CounterState& state, const Limit& limit, Units cost, WallTime now) {
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
      return token_bucket::evaluate(state, limit, cost, now);
    case Algorithm::sliding_log:
      return sliding_log::evaluate(state, limit, cost, now);
    case Algorithm::fixed_window:
      break;
  }
  return window_counter::evaluate(state, limit, cost, now);
}

PackedState evaluate_packed(PackedState state, const Limit& limit, Units cost, WallTime now,
                            LimitOutcome& outcome) {
  if (limit.algorithm == Algorithm::token_bucket)
    return token_bucket::evaluate_packed(state, limit, cost, now, outcome);
  return window_counter::evaluate_packed(state, limit, window_at(limit, now), cost, now, outcome);
}

void commit(CounterState& state, const Limit& limit, Units cost, const Step& step) {
  if (cost <= 0) return;
  state.exists = true;
  state.written = written_under(limit);
  state.time = step.time;
  state.value = step.value;
  if (limit.algorithm == Algorithm::sliding_log) {
    state.log.drop_front(step.dropped);
    state.log.append(step.time, cost);
  }
}

bool adopt(CounterState& state, const Limit& limit, WallTime now) {
  if (!state.exists || state.written.algorithm != limit.algorithm) return false;
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
      return token_bucket::adopt(state, limit, now);
    case Algorithm::sliding_log:
      return sliding_log::adopt(state, limit, now);
    case Algorithm::fixed_window:
      break;
  }
  return false;  // units of a window mean the same under every number, and those of other windows nothing
}

WallTime forgettable_at(PackedState state, const Limit& limit) {
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
      return token_bucket::forgettable_at(state, limit.limit);
    case Algorithm::sliding_log:
      return state.time + limit.window;
    case Algorithm::fixed_window:
      break;
  }
  return window_end(limit, state.time);
}

WallTime forgettable_at(const CounterState& state, const Limit& limit) {
  if (!state.exists) return kLongAgo;
  switch (state.written.algorithm) {
    case Algorithm::token_bucket:
      return token_bucket::forgettable_at({state.time, state.value}, state.written.limit);
    case Algorithm::sliding_log:
      return sliding_log::forgettable_at(state);
    case Algorithm::fixed_window:
      break;
  }
  return window_end(limit, state.time);
}

}  // namespace dripgate::core
