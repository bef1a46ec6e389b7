// One key on a timeline: events arrive, timers fire when they should or late, releases are written down.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "unit/core/booking_support.h"

namespace dripgate::testing {

struct Release {
  WallTime at;
  core::Units cost = 1;
  int event = 0;
};

class Timeline {
 public:
  Timeline(std::vector<core::Limit> limits, core::Spread spread, core::PlanRule rule = kPlanIsGate)
      : drip(std::move(limits), spread, rule) {}

  /// Reserves events first .. first + count - 1 at once; what is booked gets a timer.
  void arrive(WallTime t, int first, int count = 1, core::Units cost = 1);
  /// Runs timers up to and including t. Everything released is settled.
  void run_until(WallTime t);
  void run_all();
  /// When the timer of a slot fires; default: punctual.
  std::function<WallTime(WallTime slot)> fires = [](WallTime slot) { return slot; };

  [[nodiscard]] WallTime slot(int event) const { return drip.records.at(std::to_string(event))->slot; }
  /// Units released in [start + k * window, start + (k + 1) * window) for k = 0, 1, ...
  [[nodiscard]] std::vector<core::Units> released_per(Duration window, WallTime start) const;
  /// The most units in any span (t - window, t].
  [[nodiscard]] core::Units worst(Duration window) const;
  [[nodiscard]] static core::Units worst(std::vector<WallTime> times, Duration window);

  Drip drip;
  std::vector<Release> releases;
  std::vector<core::ReserveAnswer> answers;  // of arrivals, in order
  int moves = 0;                             // rebooked to another slot
  int beyond = 0;
  int released_at_once = 0;

 private:
  void fire(int event, std::uint32_t generation, WallTime t);
  void set_timer(int event, std::uint32_t generation, WallTime slot);

  using Timer = std::pair<int, std::uint32_t>;
  std::multimap<WallTime, Timer> timers_;
};

}  // namespace dripgate::testing
