#include "unit/core/booking_timeline.h"

#include <algorithm>

namespace dripgate::testing {

void Timeline::arrive(WallTime t, int first, int count, core::Units cost) {
  run_until(t - Duration{1});
  for (int event = first; event < first + count; ++event) {
    const std::string id = std::to_string(event);
    answers.push_back(drip.reserve(id, cost, t));
    if (answers.back().outcome == core::ReserveOutcome::now) {
      ++released_at_once;
      releases.push_back({answers.back().slot, cost, event});
      drip.settle(id);
    } else if (answers.back().outcome == core::ReserveOutcome::at) {
      set_timer(event, answers.back().generation, answers.back().slot);
    } else if (answers.back().outcome == core::ReserveOutcome::beyond_horizon) {
      ++beyond;
    }
  }
}

void Timeline::run_until(WallTime t) {
  while (!timers_.empty() && timers_.begin()->first <= t) {
    const auto [at, timer] = *timers_.begin();
    timers_.erase(timers_.begin());
    fire(timer.first, timer.second, at);
  }
}

void Timeline::run_all() {
  run_until(kNeverEnds);
}

void Timeline::fire(int event, std::uint32_t generation, WallTime t) {
  const std::string id = std::to_string(event);
  const WallTime before = slot(event);
  const auto answer = drip.gate(id, generation, t);
  if (answer.outcome == core::GateOutcome::go) {
    releases.push_back({answer.slot, drip.records.at(id)->cost, event});
    drip.settle(id);
  } else if (answer.outcome == core::GateOutcome::rebook) {
    if (answer.slot != before) ++moves;
    set_timer(event, answer.generation, answer.slot);
  } else if (answer.outcome == core::GateOutcome::beyond_horizon) {
    ++beyond;
  }
}

void Timeline::set_timer(int event, std::uint32_t generation, WallTime slot) {
  timers_.emplace(fires(slot), Timer{event, generation});
}

std::vector<core::Units> Timeline::released_per(Duration window, WallTime start) const {
  std::vector<core::Units> result;
  for (const Release& release : releases) {
    if (release.at < start) continue;
    const auto index = static_cast<std::size_t>((release.at - start) / window);
    if (result.size() <= index) result.resize(index + 1);
    result[index] += release.cost;
  }
  return result;
}

core::Units Timeline::worst(Duration window) const {
  std::vector<WallTime> times;
  for (const Release& release : releases) times.insert(times.end(), release.cost, release.at);
  return worst(times, window);
}

core::Units Timeline::worst(std::vector<WallTime> times, Duration window) {
  std::ranges::sort(times);
  core::Units most = 0;
  std::size_t first = 0;
  for (std::size_t last = 0; last < times.size(); ++last) {
    while (times[first] <= times[last] - window) ++first;
    most = std::max(most, static_cast<core::Units>(last - first + 1));
  }
  return most;
}

}  // namespace dripgate::testing
