// Whole timelines of one key with the numbers that were worked out for them (drip scenarios S1 to S18b).
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/virtual_time.h"
#include "unit/core/booking_timeline.h"

namespace dripgate::testing {
namespace {

using core::PlanRule;
using core::ReserveOutcome;
using core::Spread;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;
using namespace std::chrono_literals;

constexpr WallTime kNoon = kT0 + 4h;  // 2027-01-15T12:00:00Z
constexpr WallTime kNextMidnight = kNoon + 12h;
constexpr PlanRule kProduct{};

std::vector<core::Limit> per_minute(core::Units units) {
  return {window_limit(units, 60s)};
}
std::vector<core::Limit> second_minute_day() {
  return {window_limit(5, 1s), window_limit(100, 60s), window_limit(1000, 24h)};
}

Timeline burst_of_500(std::vector<core::Limit> limits, Spread spread, PlanRule rule = kPlanIsGate) {
  Timeline timeline(std::move(limits), spread, rule);
  timeline.arrive(kNoon + 1s, 0, 500);
  return timeline;
}

TEST(BookingGolden, S1AHundredNowThenAHundredInEachOfTheNextFourMinutes) {
  for (const Spread spread : {Spread::start, Spread::even}) {
    Timeline timeline = burst_of_500(per_minute(100), spread);
    EXPECT_EQ(timeline.released_at_once, 100);
    EXPECT_EQ(timeline.slot(100), kNoon + 60s);
    EXPECT_EQ(timeline.slot(499), spread == Spread::start ? kNoon + 4min : kNoon + 4min + 59400ms);
    timeline.run_all();
    EXPECT_THAT(timeline.released_per(60s, kNoon), ElementsAre(100, 100, 100, 100, 100));
    EXPECT_EQ(timeline.moves, 0);
    EXPECT_EQ(timeline.drip.state.pending(), 0);
  }
}

TEST(BookingGolden, S1bTheWorstSlidingMinuteOfEachAlgorithm) {
  const auto worst = [](std::vector<core::Limit> limits, Spread spread, PlanRule rule) {
    Timeline timeline = burst_of_500(std::move(limits), spread, rule);
    timeline.run_all();
    EXPECT_EQ(timeline.releases.size(), 500u);
    EXPECT_EQ(timeline.moves, 0);
    return std::pair{timeline.worst(60s), timeline.releases.back().at};
  };
  EXPECT_EQ(worst(per_minute(100), Spread::start, kProduct), std::pair(core::Units{200}, kNoon + 4min));
  EXPECT_EQ(worst(per_minute(100), Spread::even, kProduct),
            std::pair(core::Units{102}, kNoon + 4min + 59400ms));
  EXPECT_EQ(worst({log_limit(100, 60s)}, Spread::even, kPlanIsGate),
            std::pair(core::Units{100}, kNoon + 4min + 1s));
  EXPECT_EQ(worst({bucket_limit(100, 60s, 100)}, Spread::even, kProduct),
            std::pair(core::Units{199}, kNoon + 4min + 1s));
  EXPECT_EQ(worst({bucket_limit(100, 60s, 1)}, Spread::even, kProduct),
            std::pair(core::Units{100}, kNoon + 5min + 400ms));
}

TEST(BookingGolden, S1bASlidingLogPlansFivePercentBelowItsLimit) {
  Timeline timeline = burst_of_500({log_limit(100, 60s)}, Spread::even, kProduct);
  EXPECT_EQ(timeline.released_at_once, 100);
  timeline.run_all();
  EXPECT_THAT(timeline.released_per(60s, kNoon + 1s), ElementsAre(100, 95, 95, 95, 95, 20));
}

TEST(BookingGolden, S1bABucketDrainedOfAHundredBooksTheNextOnePeriodLater) {
  Timeline timeline = burst_of_500({bucket_limit(100, 60s, 100)}, Spread::even, kProduct);
  EXPECT_EQ(timeline.released_at_once, 100);
  for (int event = 100; event < 500; ++event)
    ASSERT_EQ(timeline.slot(event), kNoon + 1s + (event - 99) * 600ms) << event;
}

TEST(BookingGolden, S2SecondMinuteAndDayTogether) {
  Timeline start(second_minute_day(), Spread::start);
  start.arrive(kNoon + 1s, 0, 1500);
  EXPECT_EQ(start.released_at_once, 5);
  EXPECT_EQ(start.slot(5), kNoon + 2s);
  EXPECT_EQ(start.slot(9), kNoon + 2s);
  EXPECT_EQ(start.slot(99), kNoon + 20s);
  EXPECT_EQ(start.slot(100), kNoon + 1min);
  EXPECT_EQ(start.slot(999), kNoon + 9min + 19s);
  EXPECT_EQ(start.slot(1000), kNextMidnight);
  EXPECT_EQ(start.slot(1499), kNextMidnight + 4min + 19s);
  EXPECT_EQ(start.answers[99].deciding_limit, 0u);
  EXPECT_EQ(start.answers[100].deciding_limit, 1u);
  EXPECT_EQ(start.answers[1000].deciding_limit, 2u);
  Timeline even(second_minute_day(), Spread::even);
  even.arrive(kNoon + 1s, 0, 1500);
  EXPECT_EQ(even.slot(99), kNoon + 20s + 800ms);
  EXPECT_EQ(even.slot(999), kNoon + 9min + 19s + 800ms);
  EXPECT_EQ(even.slot(1499), kNextMidnight + 4min + 19s + 800ms);
  even.run_all();
  EXPECT_EQ(even.moves, 0);
  EXPECT_EQ(even.releases.size(), 1500u);
}

TEST(BookingGolden, S2bFourNestedWindows) {
  for (const Spread spread : {Spread::start, Spread::even}) {
    const WallTime midnight = kNextMidnight;
    Timeline timeline(
        {window_limit(3, 1s), window_limit(100, 60s), window_limit(300, 1h), window_limit(2000, 24h)},
        spread);
    timeline.arrive(midnight, 0, 2500);
    const auto second = [&](int event) {
      return std::chrono::floor<std::chrono::seconds>(timeline.slot(event));
    };
    EXPECT_EQ(second(99), midnight + 33s);
    EXPECT_EQ(second(100), midnight + 1min);
    EXPECT_EQ(second(299), midnight + 2min + 33s);
    EXPECT_EQ(second(300), midnight + 1h);
    EXPECT_EQ(second(1999), midnight + 6h + 1min + 33s);
    EXPECT_EQ(second(2000), midnight + 24h);
    EXPECT_EQ(second(2499), midnight + 25h + 1min + 33s);
  }
}

TEST(BookingGolden, S5AMinuteThatFiresLateGoesToTheTail) {
  for (const Spread spread : {Spread::even, Spread::start}) {
    Timeline timeline(per_minute(100), spread);
    timeline.fires = [](WallTime slot) {
      return slot >= kNoon + 2min && slot < kNoon + 3min ? slot + 90s : slot;
    };
    timeline.arrive(kNoon + 1s, 0, 500);
    timeline.run_all();
    EXPECT_THAT(timeline.released_per(60s, kNoon), ElementsAre(100, 100, 0, 100, 100, 100));
    EXPECT_EQ(timeline.moves, 100);
  }
}

TEST(BookingGolden, TimersThatAreAllNinetySecondsLateMoveNothing) {
  const auto moves = [](std::vector<core::Limit> limits, int events) {
    Timeline timeline(std::move(limits), Spread::even, kProduct);
    timeline.fires = [](WallTime slot) { return slot + 90s; };
    timeline.arrive(kNoon, 0, events);
    timeline.run_all();
    EXPECT_EQ(timeline.releases.size(), static_cast<std::size_t>(events));
    return timeline.moves;
  };
  EXPECT_EQ(moves(per_minute(100), 1000), 0);
  EXPECT_EQ(moves({log_limit(100, 60s)}, 1000), 0);
  EXPECT_EQ(moves({bucket_limit(100, 60s, 5)}, 1000), 0);
  EXPECT_EQ(moves(second_minute_day(), 1000), 0);
}

TEST(BookingGolden, S6AHalvedLimitMovesHalfOfTheBookings) {
  Timeline timeline(per_minute(100), Spread::start);
  timeline.arrive(kNoon, 0, 10100);
  ASSERT_EQ(timeline.slot(10099), kNoon + 100min);
  timeline.drip.policy.limits = per_minute(50);
  timeline.run_all();
  EXPECT_EQ(timeline.moves, 5000);
  auto totals = timeline.released_per(60s, kNoon);
  ASSERT_EQ(totals.size(), 201u);
  EXPECT_EQ(totals[0], 100);
  totals.erase(totals.begin());
  EXPECT_THAT(totals, Each(50));
}

TEST(BookingGolden, S6WithATwoHourHorizonTheTailIsDeadLettered) {
  const auto run = [](Spread spread, Duration received) {
    Timeline timeline(per_minute(100), spread);
    timeline.drip.policy.max_delay = 2h;
    timeline.arrive(kNoon + received, 0, 10100);
    timeline.drip.policy.limits = per_minute(50);
    timeline.run_all();
    EXPECT_EQ(timeline.drip.state.pending(), 0);
    return std::tuple(timeline.releases.size() - 100, timeline.beyond, timeline.moves);
  };
  EXPECT_EQ(run(Spread::start, 0s), std::tuple(6000u, 4000, 1000));
  EXPECT_EQ(std::get<0>(run(Spread::even, 30s)), 5976u);
  EXPECT_EQ(std::get<1>(run(Spread::even, 30s)), 4024);
}

TEST(BookingGolden, RaisingALimitMovesNothingAndNewcomersUseIt) {
  Timeline timeline(per_minute(100), Spread::start);
  timeline.arrive(kNoon, 0, 500);
  timeline.drip.policy.limits = per_minute(200);
  timeline.arrive(kNoon, 500, 100);
  EXPECT_EQ(timeline.slot(499), kNoon + 4min);
  EXPECT_EQ(timeline.slot(599), kNoon + 4min);
  timeline.run_all();
  EXPECT_EQ(timeline.moves, 0);
}

TEST(BookingGolden, S9TheHorizonIsInclusive) {
  for (const Duration horizon : {59000ms, 58999ms}) {
    Timeline timeline(per_minute(1), Spread::start);
    timeline.drip.policy.max_delay = horizon;
    timeline.arrive(kNoon + 1s, 0, 2);
    const bool accepted = horizon == 59000ms;
    EXPECT_EQ(timeline.answers[1].outcome, accepted ? ReserveOutcome::at : ReserveOutcome::beyond_horizon);
    EXPECT_EQ(timeline.answers[1].slot, kNoon + 60s);
    EXPECT_EQ(timeline.drip.state.pending(), accepted ? 1 : 0);
  }
}

TEST(BookingGolden, S12AFreezeMovesOnlyWhatFallsIntoIt) {
  Timeline even(per_minute(100), Spread::even);
  even.arrive(kNoon + 1s, 0, 500);
  even.run_until(kNoon + 30s);
  core::freeze(even.drip.state, kNoon + 2min + 30s);
  even.run_all();
  EXPECT_EQ(even.moves, 150);
  EXPECT_THAT(even.released_per(60s, kNoon), ElementsAre(100, 0, 50, 100, 100, 100, 50));
  EXPECT_EQ(even.releases[100].at, kNoon + 2min + 30s);
  EXPECT_EQ(even.releases.back().at, kNoon + 6min + 29400ms);
  EXPECT_EQ(even.worst(60s), 100);
  Timeline start(per_minute(100), Spread::start);
  start.arrive(kNoon + 1s, 0, 500);
  core::freeze(start.drip.state, kNoon + 2min + 30s);
  start.run_all();
  EXPECT_EQ(start.moves, 200);
  EXPECT_THAT(start.released_per(60s, kNoon), ElementsAre(100, 0, 0, 100, 100, 100, 100));
}

// The dispatcher is down from minute 1 on; at `up` everything due fires at once.
Timeline outage(int overdue, Spread spread) {
  const WallTime up = kNoon + 1min + overdue / 1000 * 1min;
  Timeline timeline(per_minute(1000), spread);
  timeline.fires = [up](WallTime slot) { return std::max(slot, up); };
  timeline.arrive(kNoon, 0, 1000 + overdue);
  return timeline;
}

TEST(BookingGolden, S14AfterAnOutageTheOverdueDrainAtTheLimit) {
  Timeline timeline = outage(10000, Spread::even);
  timeline.run_all();
  EXPECT_EQ(timeline.moves, 9000);
  EXPECT_EQ(timeline.releases.back().at, kNoon + 11min + 9min + 59940ms);
  EXPECT_THAT(timeline.released_per(60s, kNoon + 11min), Each(1000));
}

TEST(BookingGolden, S14NewcomersStandBehindTheOverdueUntilTheBacklogIsGone) {
  for (const int overdue : {10000, 6000}) {
    Timeline timeline = outage(overdue, Spread::even);
    const WallTime up = kNoon + 1min + overdue / 1000 * 1min;
    std::optional<WallTime> passes;
    for (int live = 0; live < 600 * 30; ++live) {
      const WallTime t = up + live * 100ms;
      timeline.arrive(t, 20000 + live);
      const bool now = timeline.answers.back().outcome == ReserveOutcome::now;
      if (now && !passes) passes = t;
      ASSERT_TRUE(now || !passes) << "a newcomer waits although the backlog is gone";
    }
    // 400 of the 1000 per minute are left for the backlog: 25 and 15 minutes.
    const WallTime gone = up + (overdue == 10000 ? 25min : 15min);
    EXPECT_GT(*passes, gone - 200ms);
    EXPECT_LE(*passes, gone);
    WallTime last_overdue = up;
    for (const Release& release : timeline.releases)
      if (release.event < 20000) last_overdue = std::max(last_overdue, release.at);
    EXPECT_EQ(last_overdue, up + (overdue / 1000 - 1) * 1min + 59940ms);
    EXPECT_EQ(timeline.drip.state.pending(), 0);
  }
}

TEST(BookingGolden, S18bABigCostIsNotOvertaken) {
  Timeline timeline(per_minute(5), Spread::start);
  int event = 0;
  for (const core::Units cost : {3, 3, 2, 1, 3}) timeline.arrive(kNoon, event++, 1, cost);
  EXPECT_EQ(timeline.released_at_once, 1);
  EXPECT_EQ(timeline.slot(1), kNoon + 1min);
  EXPECT_EQ(timeline.slot(2), kNoon + 1min);
  EXPECT_EQ(timeline.slot(3), kNoon + 2min);
  EXPECT_EQ(timeline.slot(4), kNoon + 2min);
}

TEST(BookingGolden, AnOutageOfFiveMinutesLosesNothingOfTheDay) {
  Timeline timeline(second_minute_day(), Spread::even);
  timeline.fires = [](WallTime slot) {
    return slot >= kNoon + 2min && slot < kNoon + 7min ? kNoon + 7min : slot;
  };
  timeline.arrive(kNoon + 1s, 0, 1500);
  timeline.run_all();
  EXPECT_THAT(timeline.released_per(24h, kNoon - 12h), ElementsAre(1000, 500));
  EXPECT_EQ(timeline.moves, 500);
}

TEST(BookingGolden, AFewSecondsOfJitterMoveFewBookings) {
  const auto run = [](std::vector<core::Limit> limits, Duration jitter, int events, PlanRule rule) {
    std::mt19937_64 random(7);
    Timeline timeline(std::move(limits), Spread::even, rule);
    timeline.fires = [&](WallTime slot) {
      return slot +
             Duration{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(jitter.count()))};
    };
    timeline.arrive(kNoon, 0, events + 100);
    timeline.run_all();
    return std::pair(timeline.moves, timeline.releases.back().at - kNoon);
  };
  const auto fixed = run(per_minute(100), 2s, 10000, kProduct);
  EXPECT_LT(fixed.first, 100);
  EXPECT_LE(fixed.second, 102min);
  const auto log = run({log_limit(100, 60s)}, 500ms, 5000, kProduct);
  const auto log_at_limit = run({log_limit(100, 60s)}, 500ms, 5000, kPlanIsGate);
  EXPECT_LT(log.first, 200);
  EXPECT_LT(log.first, log_at_limit.first * 2 / 3) << "the headroom is there to save moves";
  EXPECT_LE(log.second, 56min);
  const auto bucket = run({bucket_limit(100, 60s, 5)}, 2s, 5000, kProduct);
  EXPECT_EQ(bucket.first, 0);
  EXPECT_LE(bucket.second, 51min + 2s);
}

TEST(BookingGolden, EachGivenBackSlotIsWastedAtMostOnce) {
  Timeline timeline(per_minute(100), Spread::even);
  timeline.arrive(kNoon, 0, 5100);
  for (int event = 100; event < 5000; event += 10)
    ASSERT_TRUE(timeline.drip.release(std::to_string(event), kNoon));
  timeline.arrive(kNoon, 6000, 100);
  EXPECT_EQ(timeline.slot(6099), kNoon + 51min + 59400ms);
  timeline.run_all();
  EXPECT_EQ(timeline.moves, 0);
  EXPECT_EQ(timeline.drip.state.pending(), 0);
}

TEST(BookingGolden, LostTimersAgeOutAndNewcomersPassAgain) {
  for (const int lost : {100, 250}) {
    Timeline timeline(per_minute(100), Spread::even);
    timeline.fires = [&](WallTime slot) { return slot < kNoon + 10min ? kNeverEnds : slot; };
    timeline.arrive(kNoon, 0, 100 + lost);
    std::optional<WallTime> passes;
    for (int live = 0; live < 50 * 60 * 3; ++live) {
      const WallTime t = kNoon + 10min + live * 1200ms;
      timeline.arrive(t, 1000 + live);
      if (timeline.answers.back().outcome == ReserveOutcome::now && !passes) passes = t;
    }
    ASSERT_TRUE(passes.has_value());
    EXPECT_GT(*passes - kNoon, 1h);
    EXPECT_LT(*passes - kNoon, 2h + 20min);
    timeline.run_until(kNeverEnds - 1h);
    EXPECT_EQ(timeline.drip.state.pending(), 0);
  }
}

}  // namespace
}  // namespace dripgate::testing
