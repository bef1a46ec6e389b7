// Plans over reloaded limits, calendar days and long replays; the histories that broke earlier designs; and
// the corpus of another implementation.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/virtual_time.h"
#include "unit/core/booking_corpus.h"
#include "unit/core/booking_timeline.h"

namespace dripgate::testing {
namespace {

using core::EventState;
using core::PlanRule;
using core::Spread;
using ::testing::Each;
using ::testing::Le;
using namespace std::chrono_literals;

// --- the corpus

TEST(BookingCorpus, AnotherImplementationGaveTheSameAnswers) {
  const auto result = replay_corpus(DRIPGATE_SOURCE_DIR "/tests/golden/booking_corpus.txt");
  EXPECT_GE(result.histories, 400);
  EXPECT_GE(result.operations, 9000);
  EXPECT_EQ(result.different, 0) << result.first;
}

// --- counter-examples: what went wrong in earlier designs, in the order of docs/booking.md

TEST(BookingCounterExample, ATailAtNowWithUnitsPendingIsReplayed) {
  Drip drip({window_limit(40, 60s)}, Spread::start);
  (void)drip.reserve("x", 40, kT0);
  for (int i = 0; i < 36; ++i) (void)drip.reserve(std::to_string(i), 1, kT0);
  // All 36 are due at kT0 + 60 s and none has fired: room for four newcomers, not for forty.
  int passed = 0;
  for (int i = 0; i < 10; ++i)
    if (text(drip.reserve("n" + std::to_string(i), 1, kT0 + 60s)) == "NOW") ++passed;
  EXPECT_EQ(passed, 4);
}

TEST(BookingCounterExample, ARefusedEventNeverGetsItsOwnMomentAgain) {
  Drip drip({log_limit(2, 60s)}, Spread::start);
  for (const char* id : {"a", "b", "c", "d"}) (void)drip.reserve(id, 1, kT0);
  ASSERT_EQ(text(drip.gate("c", 0, kT0 + 90s)), "GO");
  ASSERT_EQ(text(drip.gate("d", 0, kT0 + 91s)), "GO");
  (void)drip.reserve("e", 2, kT0 + 92s);
  const auto refused = drip.gate("e", 0, kT0 + 150s);
  EXPECT_EQ(refused.outcome, core::GateOutcome::rebook);
  EXPECT_GT(refused.slot, kT0 + 150s);
  const auto again = drip.gate("e", refused.generation, refused.slot);
  EXPECT_EQ(again.outcome, core::GateOutcome::go);
}

TEST(BookingCounterExample, ALoweredLogForgetsNothingThatARaisedOneCounts) {
  Drip drip({log_limit(10, 60s)}, Spread::start);
  (void)drip.reserve("a", 10, kT0);
  drip.policy.limits = {log_limit(2, 60s)};
  EXPECT_EQ(text(drip.reserve("b", 1, kT0 + 1s)), "AT " + ms_text(kT0 + 60s));
  drip.policy.limits = {log_limit(11, 60s)};
  ASSERT_TRUE(drip.release("b", kT0 + 2s));
  EXPECT_EQ(text(drip.reserve("c", 1, kT0 + 2s)), "NOW");
  EXPECT_EQ(text(drip.reserve("d", 1, kT0 + 2s)), "AT " + ms_text(kT0 + 60s));
}

// Four: BookingRecord.AnOldTimerNeverFiresTheNewBooking.

TEST(BookingCounterExample, OverdueEventsUseTheRunningDayAlthoughTheTailHasLeftIt) {
  // An outage in the last hour of the day's bookings: all 100 fit into this day, and go there.
  Timeline timeline({window_limit(10, 60s), window_limit(100, 24h)}, Spread::start);
  const WallTime up = kT0 + 1h;
  timeline.fires = [up](WallTime slot) { return std::max(slot, up); };
  timeline.arrive(kT0, 0, 150);
  timeline.run_until(kT0 + 15h);
  EXPECT_EQ(timeline.releases.size(), 100u);
  timeline.run_all();
  EXPECT_EQ(timeline.releases.size(), 150u);
}

TEST(BookingCounterExample, AnEventIsRepairedAtMostTwiceThenItGoesToTheTail) {
  std::mt19937_64 random(3);
  Timeline timeline({window_limit(2, 1s), window_limit(20, 60s)}, Spread::start);
  timeline.fires = [&](WallTime slot) {
    return slot + Duration{static_cast<std::int64_t>(random() % 9'000'000)};
  };
  timeline.arrive(kT0, 0, 400);
  timeline.run_all();
  EXPECT_EQ(timeline.releases.size(), 400u);
  for (const auto& [id, record] : timeline.drip.records) EXPECT_LE(record->repairs, kRepairsMax) << id;
}

TEST(BookingCounterExample, ABucketGatedAtItsBookedBurstLosesRateToJitter) {
  const auto run = [](core::Units capacity) {
    std::mt19937_64 random(5);
    Timeline timeline({bucket_limit(100, 60s, capacity)}, Spread::even, PlanRule{});
    timeline.fires = [&](WallTime slot) {
      return slot + Duration{static_cast<std::int64_t>(random() % 2'000'000)};
    };
    timeline.arrive(kT0, 0, 2000);
    timeline.run_all();
    EXPECT_EQ(timeline.releases.size(), 2000u);
    return std::pair(timeline.moves, timeline.releases.back().at - kT0);
  };
  EXPECT_GT(run(1).first, 1000);
  EXPECT_GT(run(1).second, 25min);
  EXPECT_EQ(run(5).first, 0);
  EXPECT_LE(run(5).second, 20min + 2s);
}

TEST(BookingPlan, ABucketThatFilledUpBooksNoVolley) {
  const auto fifth = [](PlanRule rule) {
    Drip drip({bucket_limit(60, 60s, 5)}, Spread::start, rule);
    core::freeze(drip.state, kT0 + 10s);
    for (const char* id : {"a", "b", "c", "d"}) (void)drip.reserve(id, 1, kT0);
    return drip.reserve("e", 1, kT0).slot;
  };
  EXPECT_EQ(fifth(PlanRule{}), kT0 + 14s);
  EXPECT_EQ(fifth(kPlanIsGate), kT0 + 10s) << "the control";
}

// --- costs and plans

TEST(BookingPlan, ACostAboveThePlannedBurstIsBookable) {
  Drip drip({bucket_limit(60, 60s, 10)}, Spread::start, PlanRule{});
  (void)drip.reserve("a", 10, kT0);
  EXPECT_EQ(drip.reserve("b", 1, kT0).slot, kT0 + 1s);
  EXPECT_EQ(drip.reserve("c", 10, kT0).slot, kT0 + 11s);
  EXPECT_EQ(drip.reserve("d", 3, kT0).slot, kT0 + 14s);
  EXPECT_EQ(drip.reserve("e", 1, kT0).slot, kT0 + 15s);
  EXPECT_EQ(text(drip.reserve("f", 11, kT0)), "IMPOSSIBLE");
  for (const char* id : {"b", "c", "d", "e"})
    EXPECT_EQ(text(drip.gate(id, 0, drip.records[id]->slot)), "GO") << id;
}

TEST(BookingPlan, ACostAboveThePlannedLogIsBookable) {
  Drip drip({log_limit(20, 60s)}, Spread::start, PlanRule{});
  (void)drip.reserve("a", 20, kT0);
  EXPECT_EQ(drip.reserve("b", 20, kT0).slot, kT0 + 60s);
  EXPECT_EQ(drip.reserve("c", 1, kT0).slot, kT0 + 120s);
  EXPECT_EQ(drip.reserve("d", 18, kT0).slot, kT0 + 120s);
  EXPECT_EQ(drip.reserve("e", 1, kT0).slot, kT0 + 180s) << "19 of 20 are planned";
}

TEST(BookingPlan, ABucketThatNeverRefillsBooksNothing) {
  Drip drip({bucket_limit(0, 60s, 2)}, Spread::start, PlanRule{});
  drip.policy.max_delay = 1h;
  EXPECT_EQ(text(drip.reserve("a", 2, kT0)), "NOW");
  EXPECT_EQ(drip.reserve("b", 1, kT0 + 1h).outcome, core::ReserveOutcome::beyond_horizon);
  EXPECT_EQ(text(drip.reserve("c", 3, kT0 + 1h)), "IMPOSSIBLE");
  drip.policy.limits = {bucket_limit(1, 60s, 2)};
  EXPECT_EQ(text(drip.reserve("d", 1, kT0 + 1h)), "AT " + ms_text(kT0 + 1h + 60s));
}

// --- reloaded limits

TEST(BookingReload, ABucketKeepsItsDebtInUnits) {
  Drip drip({bucket_limit(60, 60s, 10)}, Spread::start, PlanRule{});
  EXPECT_EQ(text(drip.reserve("a", 10, kT0)), "NOW");
  drip.policy.limits = {bucket_limit(6, 60s, 10)};
  EXPECT_EQ(drip.reserve("b", 1, kT0).slot, kT0 + 10s);
  EXPECT_EQ(drip.reserve("c", 1, kT0).slot, kT0 + 20s);
  drip.policy.limits = {bucket_limit(600, 60s, 10)};
  EXPECT_EQ(text(drip.gate("b", 0, kT0 + 10s)), "GO");
  EXPECT_EQ(drip.state.released[0].at, kT0 + 11s) << "nine owed and one more, ten a second";
}

TEST(BookingReload, AnAddedLimitCountsFromNowOnAndARemovedOneIsForgotten) {
  Drip drip({window_limit(4, 60s)}, Spread::start, PlanRule{});
  (void)drip.reserve("x", 4, kT0);
  for (const char* id : {"a", "b", "c"}) (void)drip.reserve(id, 1, kT0);
  drip.policy.limits = {window_limit(3, 1h), window_limit(4, 60s)};
  // The tail assumes that the three pending fill the hour in which it stands.
  EXPECT_EQ(drip.reserve("n", 1, kT0 + 1s).slot, kT0 + 1h);
  for (const char* id : {"a", "b", "c"}) EXPECT_EQ(text(drip.gate(id, 0, kT0 + 60s)), "GO");
  EXPECT_EQ(drip.state.pending(), 1);
  drip.policy.limits = {window_limit(4, 60s)};
  EXPECT_EQ(text(drip.gate("n", 0, kT0 + 1h)), "GO");
  EXPECT_EQ(text(drip.reserve("m", 3, kT0 + 1h)), "NOW");
  EXPECT_EQ(drip.reserve("o", 1, kT0 + 1h).slot, kT0 + 1h + 60s);
}

TEST(BookingReload, ReorderedLimitsKeepWhatTheyCounted) {
  Drip drip({window_limit(2, 60s), log_limit(3, 30s), bucket_limit(4, 40s, 4)}, Spread::start, PlanRule{});
  (void)drip.reserve("a", 2, kT0);
  (void)drip.reserve("b", 1, kT0);
  drip.policy.limits = {bucket_limit(4, 40s, 4), window_limit(2, 60s), log_limit(3, 30s)};
  const auto view = core::inspect(drip.state, drip.policy, kT0);
  EXPECT_EQ(view.released, (std::vector<core::Units>{2, 2, 2}));
  EXPECT_EQ(drip.reserve("b", 1, kT0).slot, kT0 + 60s);
  EXPECT_EQ(drip.reserve("c", 1, kT0).slot, kT0 + 70s) << "one refill later";
  EXPECT_EQ(drip.reserve("d", 1, kT0).slot, kT0 + 120s);
}

TEST(BookingReload, RaisedAndLoweredLimitsNeverReleaseMoreThanIsInForce) {
  Timeline timeline({window_limit(10, 60s)}, Spread::even, PlanRule{});
  timeline.arrive(kT0, 0, 200);
  timeline.run_until(kT0 + 90s);
  timeline.drip.policy.limits = {window_limit(3, 60s)};
  timeline.run_until(kT0 + 10min);
  for (int minute = 2; minute < 10; ++minute)
    EXPECT_LE(timeline.released_per(60s, kT0)[static_cast<std::size_t>(minute)], 3) << minute;
  timeline.drip.policy.limits = {window_limit(50, 60s)};
  timeline.run_all();
  EXPECT_EQ(timeline.releases.size(), 200u);
  EXPECT_EQ(timeline.drip.state.pending(), 0);
}

// --- calendar days

WallTime utc(int year, unsigned month, unsigned day, Duration time = 0h) {
  return WallTime{std::chrono::sys_days{std::chrono::year{year} / static_cast<int>(month) /
                                        static_cast<int>(day)}} +
         time;
}

std::shared_ptr<const Zone> zone(std::string name, Duration before, WallTime change, Duration after) {
  return std::make_shared<Zone>(Zone{std::move(name), {{kLongAgo, before}, {change, after}}});
}

TEST(BookingCalendar, S7ADayOfAZoneIsAsLongAsItsClocksMakeIt) {
  struct Day {
    WallTime start;
    Duration span;
    std::shared_ptr<const Zone> zone;
  };
  const std::vector<Day> days{
      {utc(2026, 3, 8, 5h), 23h, zone("America/New_York", -5h, utc(2026, 3, 8, 7h), -4h)},
      {utc(2026, 11, 1, 4h), 25h, zone("America/New_York", -4h, utc(2026, 11, 1, 6h), -5h)},
      {utc(2026, 9, 6, 4h), 23h, zone("America/Santiago", -4h, utc(2026, 9, 6, 4h), -3h)},
      {utc(2026, 4, 23, 22h), 23h, zone("Africa/Cairo", 2h, utc(2026, 4, 23, 22h), 3h)},
      {utc(2026, 3, 28, 22h), 23h, zone("Asia/Beirut", 2h, utc(2026, 3, 28, 22h), 3h)},
      {utc(2026, 10, 3, 13h + 30min), 23h + 30min,
       zone("Australia/Lord_Howe", 10h + 30min, utc(2026, 10, 3, 15h + 30min), 11h)},
      {utc(2026, 5, 1, 18h + 15min), 24h, zone("Asia/Kathmandu", 5h + 45min, kLongAgo + 1h, 5h + 45min)}};
  for (const Day& day : days) {
    Drip drip({day_limit(24000, day.zone)}, Spread::even, PlanRule{});
    ASSERT_EQ(text(drip.reserve("x", 24000, day.start - 1s)), "NOW") << day.zone->name;
    EXPECT_EQ(drip.reserve("0", 1, day.start - 1s).slot, day.start) << day.zone->name;
    EXPECT_EQ(drip.reserve("1", 1, day.start - 1s).slot, day.start + day.span / 24000) << day.zone->name;
    (void)drip.reserve("y", 23998, day.start - 1s);
    EXPECT_EQ(drip.reserve("next", 1, day.start - 1s).slot, day.start + day.span) << day.zone->name;
  }
}

TEST(BookingCalendar, OverdueDaysAreReplayedUpToTheHorizonOnly) {
  const auto zone_of_day = zone("America/New_York", -5h, utc(2027, 3, 14, 7h), -4h);
  Drip drip({window_limit(4, 1h), day_limit(10, zone_of_day)}, Spread::start, PlanRule{});
  for (int i = 0; i < 20000; ++i) (void)drip.reserve(std::to_string(i), 1, kT0);
  const WallTime far = drip.records["19999"]->slot;
  EXPECT_GT(far, kT0 + 24h * 1990);
  drip.policy.max_delay = 24h * 30;
  const auto answer = drip.reserve("n", 1, far + 24h);
  EXPECT_EQ(answer.outcome, core::ReserveOutcome::beyond_horizon);
  EXPECT_GT(answer.slot, far + 24h + drip.policy.max_delay);
}

// --- replays

struct Family {
  std::vector<core::Limit> limits;
  core::Units batch;  // divides every limit, so that big costs waste nothing
};

std::vector<Family> replay_families() {
  return {
      {{window_limit(1000, 60s)}, 1000},
      {{window_limit(100, 1s), window_limit(1000, 60s), window_limit(20000, 1h), window_limit(100000, 24h)},
       100},
      {{window_limit(300, 1s), window_limit(100, 10s), window_limit(100000, 24h)}, 100},
      {{bucket_limit(1000, 60s, 500)}, 100}};
}

TEST(BookingReplay, FiveMillionOverdueAreReplayedToWhereBookingThemPutsTheTail) {
  for (const Family& family : replay_families()) {
    Drip overdue(family.limits, Spread::start);
    Drip booked(family.limits, Spread::start);
    const auto book = [&](Drip& drip, WallTime t) {
      WallTime last = t;
      std::optional<core::EventRecord> none;
      for (core::Units units = 0; units < 5'000'000; units += family.batch) {
        none.reset();
        core::ReserveInput input;
        input.cost = family.batch;
        last = core::reserve(drip.state, none, drip.policy, input, t, kPlanIsGate)->slot;
      }
      return last;
    };
    // A first one fills the windows of kT0, so that all five million are pending.
    for (int i = 0; i < 1000; ++i)
      if (text(overdue.reserve("x" + std::to_string(i), family.batch, kT0)) != "NOW") {
        ASSERT_TRUE(overdue.release("x" + std::to_string(i), kT0));
        break;
      }
    const WallTime end = book(overdue, kT0);
    ASSERT_EQ(overdue.state.pending(), 5'000'000);
    const WallTime day = std::chrono::floor<std::chrono::days>(end) + 24h * 9;
    (void)book(booked, day);
    const auto newcomer = overdue.reserve("n", 1, day);
    EXPECT_EQ(newcomer.slot, booked.reserve("n", 1, day).slot);
    EXPECT_EQ(newcomer.outcome, core::ReserveOutcome::at);
  }
}

TEST(BookingReplay, AMixOfLimitsIsReplayedInBoundedStepsToALowerBound) {
  const std::vector<core::Limit> mix{window_limit(7, 13s), window_limit(100, 90s), bucket_limit(60, 60s, 10),
                                     log_limit(200, 250s)};
  Drip drip(mix, Spread::start, PlanRule{});
  for (int i = 0; i < 20000; ++i) (void)drip.reserve(std::to_string(i), 1, kT0);
  const WallTime end = drip.records["19999"]->slot;
  const Duration drain = end - kT0;
  const auto newcomer = drip.reserve("n", 1, end + 1h);
  ASSERT_EQ(newcomer.outcome, core::ReserveOutcome::at);
  EXPECT_GT(newcomer.slot - (end + 1h), drain * 9 / 10);
  EXPECT_LE(newcomer.slot - (end + 1h), drain + 90s);
}

TEST(BookingReplay, ABacklogThatWouldOutlastTimeIsBeyondTheHorizon) {
  const std::vector<std::vector<core::Limit>> families{
      {window_limit(1, 24h)}, {bucket_limit(1, 24h, 1)}, {log_limit(1, 24h), window_limit(1, 23h)}};
  for (const auto& limits : families) {
    Drip drip(limits, Spread::start, PlanRule{});
    drip.policy.max_delay = 30 * 24h;
    (void)drip.reserve("a", 1, kT0);
    (void)drip.reserve("b", 1, kT0);
    drip.state.pending_new = core::Units{1} << 40;
    EXPECT_EQ(drip.reserve("n", 1, kT0 + 72h).outcome, core::ReserveOutcome::beyond_horizon);
    EXPECT_GE(core::inspect(drip.state, drip.policy, kT0 + 72h).next_slot, kNeverEnds - 1h);
  }
}

TEST(BookingReplay, ALogOfOneUnitIsReplayedBehindTheRounds) {
  Drip drip({log_limit(1, 10s), window_limit(3, 13s)}, Spread::start, PlanRule{});
  for (int i = 0; i <= 2 * kReplayRoundsMax; ++i) (void)drip.reserve(std::to_string(i), 1, kT0);
  const WallTime now = kT0 + 24h;
  EXPECT_EQ(drip.reserve("n", 1, now).slot, now + 2 * kReplayRoundsMax * 10s);
}

TEST(BookingReplay, UnitsThatNeverFireLeaveThePendingCountInTwoAges) {
  Drip drip({window_limit(10, 60s)}, Spread::start, PlanRule{});
  for (int i = 0; i < 110; ++i) (void)drip.reserve(std::to_string(i), 1, kT0);
  ASSERT_EQ(drip.state.pending(), 100);
  const WallTime first = kT0 + 61min;
  EXPECT_EQ(drip.reserve("n0", 1, first).outcome, core::ReserveOutcome::at);
  ASSERT_TRUE(drip.release("n0", first));
  EXPECT_EQ(drip.state.pending(), 100);
  EXPECT_EQ(text(drip.reserve("n1", 1, first + kLostTimerAge)), "NOW");
  EXPECT_EQ(drip.state.pending(), 0);
  EXPECT_EQ(text(drip.gate("50", 0, first + kLostTimerAge)), "GO") << "late, not lost: it goes by the gate";
  EXPECT_EQ(drip.state.pending(), 0);
}

}  // namespace
}  // namespace dripgate::testing
