// Bug reports of other limiters as tables (docs/: groups A and B, E1), with their exact numbers.
#include <vector>

#include <gtest/gtest.h>

#include "core/fixed_window.h"
#include "unit/core/counter_support.h"

namespace dripgate::core {
namespace {

using namespace std::chrono_literals;

struct Call {
  double at;
  Units cost;
  Verdict verdict;
  Units remaining;
  std::optional<Duration> wait;
};
constexpr auto kAllow = Verdict::allow;
constexpr auto kDeny = Verdict::deny;
constexpr auto kImpossible = Verdict::impossible;
constexpr std::optional<Duration> kNone = std::nullopt;

void play(Counter& counter, const std::vector<Call>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& c = calls[i];
    const LimitOutcome got = counter.call(plus(c.at), c.cost);
    EXPECT_EQ(got.verdict, c.verdict) << "call " << i + 1;
    EXPECT_EQ(got.remaining, c.remaining) << "call " << i + 1;
    EXPECT_EQ(got.retry_after, c.wait) << "call " << i + 1;
  }
}
void play(const Limit& limit, const std::vector<Call>& calls) {
  Counter counter{limit};
  play(counter, calls);
}

std::vector<double> allowed_times(const Limit& limit, double step, double until) {
  Counter counter{limit};
  std::vector<double> times;
  for (int i = 0; i * step <= until + 1e-9; ++i)
    if (counter.call(plus(i * step)).verdict == kAllow) times.push_back(std::round(i * step * 10) / 10);
  return times;
}

TEST(TokenBucket, A1_PollingWhileDeniedLosesNoFraction) {
  EXPECT_EQ(allowed_times(tb(1, 1, 10s), 1.0, 40), (std::vector<double>{0, 10, 20, 30, 40}));
  EXPECT_EQ(allowed_times(tb(1, 1, 10s), 0.3, 40), (std::vector<double>{0, 10.2, 20.4, 30.6}));
  play(tb(1, 1, 24h), {{0, 1, kAllow, 0, kNone},
                       {3600, 1, kDeny, 0, 82800s},
                       {43200, 1, kDeny, 0, 43200s},
                       {86399, 1, kDeny, 0, 1s},
                       {86400, 1, kAllow, 0, kNone}});
}

TEST(TokenBucket, A2_ARefusedExpensiveCallNeitherEatsNorInvertsTheBalance) {
  for (const Units refused : {Units{5}, Units{1'000'000}}) {
    Counter counter{tb(10, 1, 10s)};
    const bool fits = refused <= 10;
    play(counter, {{0, 8, kAllow, 2, kNone},
                   {0, refused, fits ? kDeny : kImpossible, 2, fits ? std::optional<Duration>{30s} : kNone},
                   {0, 2, kAllow, 0, kNone},
                   {0, 1, kDeny, 0, 10s}});
    EXPECT_LE(forgettable_at(counter.state, counter.limit) - plus(0), 100s);
    EXPECT_EQ(counter.call(plus(10)).verdict, kAllow);
  }
}

TEST(TokenBucket, A4_FastRatesKeepTheirStateUntilItIsFullAgain) {
  play(tb(1, 3, 1s), {{0, 1, kAllow, 0, kNone},
                      {0.10, 1, kDeny, 0, 233'334us},
                      {0.33, 1, kDeny, 0, 3'334us},
                      {0.34, 1, kAllow, 0, kNone},
                      {0.67, 1, kDeny, 0, 3'334us},
                      {0.68, 1, kAllow, 0, kNone}});
  Counter fast{tb(1, 1000, 1s)};
  int passed = 0;
  for (int i = 0; i < 50; ++i) passed += fast.call(plus(0) + i * 20us).verdict == kAllow;
  EXPECT_EQ(passed, 1);
  EXPECT_EQ(forgettable_at(fast.state, fast.limit), plus(0.001));
}

TEST(Limits, A5_ZeroAdmitsNobodyAndSaysNever) {
  for (const Limit& limit : {fw(0, 60s), sl(0, 60s), tb(0, 0, 60s), tb(0, 5, 60s)}) {
    Counter counter{limit};
    for (int i = 0; i < 1000; ++i) {
      const LimitOutcome got = counter.call(plus(i));
      ASSERT_EQ(got.verdict, kDeny);
      ASSERT_EQ(got.retry_after, kNone);
      ASSERT_EQ(got.remaining, 0);
    }
    EXPECT_FALSE(counter.state.exists);
  }
  Counter once{tb(10, 0, 60s)};
  EXPECT_EQ(once.passed(1000, plus(0)), 10);
  EXPECT_EQ(once.passed(1000, plus(1e9)), 0);
  EXPECT_EQ(once.call(plus(1e9)).retry_after, kNone);
  EXPECT_EQ(once.call(plus(1e9)).reset_after, kNeverResets);
  EXPECT_EQ(once.call(plus(1e9), 11).verdict, kImpossible);
  EXPECT_EQ(forgettable_at(once.state, once.limit), kNeverEnds);
}

TEST(TokenBucket, A7_MoreThanTheCapacityIsImpossibleWithoutAWait) {
  play(tb(3, 3, 2s), {{0, 4, kImpossible, 3, kNone},
                      {0, 3, kAllow, 0, kNone},
                      {0, 1, kDeny, 0, 666'667us},
                      {2, 4, kImpossible, 3, kNone}});
  play(fw(3, 2s), {{0, 4, kImpossible, 3, kNone}, {0, 3, kAllow, 0, kNone}, {0, 4, kImpossible, 0, kNone}});
  play(sl(3, 2s), {{0, 4, kImpossible, 3, kNone}, {0, 3, kAllow, 0, kNone}, {0, 4, kImpossible, 0, kNone}});
}

TEST(Limits, A8_AClockThatStepsBackNeverAdmitsMore) {
  Counter bucket{tb(10, 1, 1s)};
  EXPECT_EQ(bucket.call(plus(100), 10).verdict, kAllow);
  const LimitOutcome back = bucket.call(plus(89));
  EXPECT_EQ(back.verdict, kDeny);
  EXPECT_GE(*back.retry_after, 1s);
  EXPECT_LE(*back.retry_after, 12s);
  EXPECT_EQ(back.remaining, 0);
  play(bucket, {{100, 1, kDeny, 0, 1s}, {101, 1, kAllow, 0, kNone}, {101, 1, kDeny, 0, 1s}});

  Counter window{fw(10, 60s)};
  EXPECT_EQ(window.passed(20, plus(30)), 10);
  EXPECT_EQ(window.passed(4, plus(60)), 4);
  EXPECT_EQ(window.passed(20, plus(59)), 6) << "the later window goes on; the earlier one was used up";
  EXPECT_EQ(window.call(plus(59)).retry_after, 61s);
  EXPECT_EQ(window.passed(20, plus(60)), 0);

  Counter log{sl(10, 60s)};
  EXPECT_EQ(log.passed(6, plus(0)), 6);
  EXPECT_EQ(log.passed(4, plus(60)), 4) << "prunes the first six";
  EXPECT_EQ(log.passed(20, plus(59)), 6);
  EXPECT_EQ(log.passed(20, plus(119.9)), 0);
}

TEST(Limits, A10_LoweringClampsAndRaisingGiftsNothing) {
  Counter a{tb(1000, 5, 900s)};
  EXPECT_EQ(a.passed(1, plus(0)), 1);
  a.limit = tb(10, 5, 900s);
  EXPECT_EQ(a.passed(12, plus(1)), 10);

  Counter b{fw(10, 1h)};
  EXPECT_EQ(b.passed(50, plus(0)), 10);
  b.limit = fw(20, 1h);
  EXPECT_EQ(b.passed(15, plus(10)), 10);

  Counter c{tb(10, 10, 60s)};
  EXPECT_EQ(c.passed(10, plus(0)), 10);
  c.limit = tb(100, 100, 60s);
  play(c, {{0, 1, kDeny, 0, 600ms}, {0.6, 1, kAllow, 0, kNone}});

  Counter d{fw(10, 1h)};
  EXPECT_EQ(d.passed(8, plus(0)), 8);
  d.limit = fw(20, 1h);
  EXPECT_EQ(d.passed(7, plus(1)), 7);
  EXPECT_EQ(d.look(plus(2)).remaining, 5);
  d.limit = fw(10, 1h);
  EXPECT_EQ(d.look(plus(2)).remaining, 0) << "15 used of 10";

  Counter e{sl(10, 60s)};
  EXPECT_EQ(e.passed(10, plus(0)), 10);
  e.limit = sl(4, 60s);
  EXPECT_EQ(e.call(plus(30)).retry_after, 30s);
  e.limit = sl(12, 60s);
  EXPECT_EQ(e.passed(5, plus(30)), 2) << "all ten still count";
}

TEST(TokenBucket, WhatWasEarnedBeforeTheChangeWasEarnedAtTheOldRate) {
  Counter counter{tb(10, 10, 60s)};
  EXPECT_EQ(counter.passed(10, plus(0)), 10);
  counter.limit = tb(100, 600, 60s);
  EXPECT_EQ(counter.passed(10, plus(30)), 5) << "30 s at 10 a minute, not at 600";
  EXPECT_EQ(counter.passed(30, plus(31)), 10) << "1 s at 600 a minute";

  Counter period{tb(7, 7, 90s)};
  EXPECT_EQ(period.passed(7, plus(0)), 7);
  period.limit = tb(7, 1, 1s);  // another period: balance 7/90 a second x 20 s = 1.555...
  EXPECT_EQ(period.call(plus(20)).verdict, kAllow);
  EXPECT_EQ(period.call(plus(20)).retry_after, 444'445us);

  Counter stops{tb(10, 10, 60s)};
  EXPECT_EQ(stops.passed(4, plus(0)), 4);
  stops.limit = tb(10, 0, 60s);
  EXPECT_EQ(stops.passed(20, plus(3)), 6) << "6.5 are left, half a unit is none";
}

TEST(FixedWindow, A11_ANewWindowStartsAtZeroWhateverIsStored) {
  Counter counter{fw(5, 60s)};
  EXPECT_EQ(counter.passed(5, plus(58.7)), 5);
  EXPECT_EQ(counter.passed(5, plus(60)), 5);
  EXPECT_EQ(counter.call(plus(60)).retry_after, 60s);
  for (int second = 61; second <= 119; ++second) EXPECT_EQ(counter.passed(1, plus(second)), 0);
  EXPECT_EQ(counter.call(plus(119.999999)).retry_after, 1us);
  EXPECT_EQ(counter.passed(6, plus(120)), 5);
  EXPECT_LE(forgettable_at(counter.state, counter.limit) - plus(120), 120s);
}

TEST(FixedWindow, UsageCarriesOnlyWithinTheSameWindows) {
  Counter counter{fw(10, 1h)};
  EXPECT_EQ(counter.passed(10, plus(0)), 10);
  counter.limit = fw(10, 60s);
  EXPECT_EQ(counter.passed(20, plus(1)), 10);
  counter.limit = tb(3, 1, 1s);
  EXPECT_EQ(counter.passed(20, plus(2)), 3) << "another algorithm starts afresh";
}

TEST(FixedWindow, CalendarDaysGrantTheirQuotaOnce) {
  const auto t = [](int day, int hour, int minute) {
    return WallTime{std::chrono::sys_days{std::chrono::year{2026} / 11 / day} + std::chrono::hours{hour} +
                    std::chrono::minutes{minute}};
  };
  auto new_york = std::make_shared<Zone>();
  new_york->transitions = {{kLongAgo, -4h}, {t(1, 6, 0), -5h}};
  Limit limit = fw(3, 24h);
  limit.zone = new_york;
  Counter counter{limit};
  EXPECT_EQ(counter.passed(9, t(1, 4, 30)), 3);
  EXPECT_EQ(counter.call(t(1, 4, 30)).retry_after, 24h + 30min);
  EXPECT_EQ(counter.passed(9, t(2, 4, 59)), 0) << "the 25th hour is the same day";
  EXPECT_EQ(counter.passed(9, t(2, 5, 0)), 3);

  auto moved = std::make_shared<Zone>(*new_york);
  counter.limit.zone = moved;
  EXPECT_EQ(counter.passed(9, t(2, 6, 0)), 0) << "a reload brings an equal zone as another object";
  moved->transitions = {{kLongAgo, 5h + 30min}};
  EXPECT_EQ(counter.passed(9, t(2, 6, 0)), 3) << "days of another zone";
}

TEST(Limits, B1_AtOneInstantExactlyTheLimitPasses) {
  for (const Limit& limit : {fw(100, 60s), sl(100, 60s), tb(100, 100, 60s)}) {
    Counter counter{limit};
    for (Units left = 99; left >= 0; --left) EXPECT_EQ(counter.call(plus(0)).remaining, left);
    for (int i = 0; i < 300; ++i) {
      const LimitOutcome got = counter.call(plus(0.001 * i));
      EXPECT_EQ(got.verdict, kDeny);
      EXPECT_EQ(got.remaining, 0);
    }
  }
}

TEST(SlidingLog, B2_CallsAtOneInstantAllCount) {
  Counter counter{sl(5, 10s)};
  EXPECT_EQ(counter.passed(20, plus(0)), 5);
  EXPECT_EQ(counter.state.log.entries().size(), 1u) << "one entry of five units";
  EXPECT_EQ(counter.state.log.total(), 5);
  Counter next{sl(5, 10s)};
  EXPECT_EQ(next.passed(2, plus(0) + 999us), 2);
  EXPECT_EQ(next.passed(9, plus(0) + 1000us), 3);
  EXPECT_EQ(next.call(plus(10) + 998us).retry_after, 1us);
  EXPECT_EQ(next.passed(9, plus(10) + 999us), 2);
  EXPECT_EQ(next.passed(9, plus(10) + 1000us), 3);
}

TEST(SlidingLog, NeverHoldsMoreThanTheLimitInAnySpan) {
  Counter counter{sl(5, 10s)};
  std::vector<double> passed;
  for (int i = 0; i < 4000; ++i)
    if (counter.call(plus(i * 0.037)).verdict == kAllow) passed.push_back(i * 0.037);
  ASSERT_GT(passed.size(), 50u);
  for (std::size_t i = 5; i < passed.size(); ++i) EXPECT_GE(passed[i] - passed[i - 5], 10.0 - 1e-9);
}

TEST(Limits, E1_WaitsAreExactAndNeverZeroOnADenial) {
  for (const Duration wait : {200'000us, 1'000'000us, 1'000'001us, 5'001'000us, 59'100'000us}) {
    for (const Limit& limit : {fw(1, 60s), sl(1, 60s), tb(1, 1, 60s)}) {
      Counter counter{limit};
      EXPECT_EQ(counter.passed(1, plus(0)), 1);
      EXPECT_EQ(counter.call(plus(60) - wait).retry_after, wait);
      EXPECT_EQ(counter.call(plus(60) - 1us).retry_after, 1us);
      EXPECT_EQ(counter.passed(1, plus(60)), 1) << "at the instant of the reset the call is allowed";
    }
  }
}

TEST(Check, ARequestTakesFromEveryLimitOrFromNone) {
  Counter second{fw(5, 1s)}, minute{sl(100, 60s)}, bucket{tb(40, 2, 1s)};
  const auto ask = [&](double at, Units cost) {
    const std::vector<CheckItem> items{{&second.state, &second.limit, cost},
                                       {&minute.state, &minute.limit, cost},
                                       {&bucket.state, &bucket.limit, cost}};
    return consume(items, plus(at));
  };
  Decision decision = ask(0, 4);
  EXPECT_EQ(decision.verdict, kAllow);
  EXPECT_EQ(decision.decisive, 0u) << "one unit left of five";
  decision = ask(0, 2);
  EXPECT_EQ(decision.verdict, kDeny);
  EXPECT_EQ(decision.decisive, 0u);
  EXPECT_EQ(decision.outcomes[0].retry_after, 1s);
  EXPECT_EQ(decision.outcomes[1].verdict, kAllow);
  EXPECT_EQ(decision.outcomes[1].remaining, 96);
  EXPECT_EQ(decision.outcomes[2].remaining, 36);
  EXPECT_EQ(ask(0, 6).verdict, kImpossible);
  EXPECT_EQ(ask(0, 1).verdict, kAllow) << "the refusals took nothing";
  EXPECT_EQ(minute.look(plus(0)).remaining, 95);
}

TEST(Check, OneStateTwiceInARequestCountsTwice) {
  Counter counter{fw(5, 60s)};
  const std::vector<CheckItem> items{{&counter.state, &counter.limit, 2},
                                     {&counter.state, &counter.limit, 2}};
  EXPECT_EQ(consume(items, plus(0)).outcomes[1].remaining, 1);
  EXPECT_EQ(consume(items, plus(0)).verdict, kDeny);
  EXPECT_EQ(counter.look(plus(0)).remaining, 1);
}

TEST(Check, TheLongestWaitDecidesAndNeverIsTheLongest) {
  Counter a{fw(1, 10s)}, b{fw(1, 60s)}, never{tb(1, 0, 1s)};
  const std::vector<CheckItem> two{{&a.state, &a.limit, 1}, {&b.state, &b.limit, 1}};
  EXPECT_EQ(consume(two, plus(0)).verdict, kAllow);
  EXPECT_EQ(consume(two, plus(1)).decisive, 1u);
  const std::vector<CheckItem> three{
      {&a.state, &a.limit, 1}, {&never.state, &never.limit, 1}, {&b.state, &b.limit, 1}};
  EXPECT_EQ(consume({&three[1], 1}, plus(1)).verdict, kAllow);
  EXPECT_EQ(consume(three, plus(1)).decisive, 1u);
}

TEST(Check, ACostOfZeroAsksForOneUnitAndTakesNone) {
  for (const Limit& limit : {fw(2, 60s), sl(2, 60s), tb(2, 2, 60s)}) {
    Counter counter{limit};
    EXPECT_EQ(counter.call(plus(0), 0).remaining, 2);
    EXPECT_FALSE(counter.state.exists);
    EXPECT_EQ(counter.passed(1, plus(0), 2), 1);
    const LimitOutcome got = counter.call(plus(0), 0);
    EXPECT_EQ(got.verdict, kDeny);
    EXPECT_EQ(got.retry_after, counter.call(plus(0), 1).retry_after);
  }
}

TEST(Refund, GivesBackIntoTheSameWindowOnly) {
  Counter window{fw(5, 60s)};
  EXPECT_EQ(window.passed(5, plus(10)), 5);
  EXPECT_TRUE(refund(window.state, window.limit, 2, plus(10), plus(20)));
  EXPECT_EQ(window.passed(5, plus(30)), 2);
  EXPECT_FALSE(refund(window.state, window.limit, 2, plus(10), plus(60)));
  EXPECT_EQ(window.passed(9, plus(60)), 5);
  EXPECT_FALSE(refund(window.state, window.limit, 2, plus(10), plus(61))) << "the minute is over";
  EXPECT_EQ(window.passed(9, plus(61)), 0);

  Counter log{sl(5, 60s)};
  EXPECT_EQ(log.passed(3, plus(0)), 3);
  EXPECT_EQ(log.passed(2, plus(1)), 2);
  EXPECT_TRUE(refund(log.state, log.limit, 2, plus(0), plus(2)));
  EXPECT_EQ(log.passed(9, plus(2)), 2);
  EXPECT_FALSE(refund(log.state, log.limit, 1, plus(0.5), plus(2))) << "nothing was taken then";
  EXPECT_FALSE(refund(log.state, log.limit, 1, plus(1), plus(61))) << "it has left the window";
}

TEST(Refund, ABucketDoesNotGiveBackWhatItHasRefilledMeanwhile) {
  Counter busy{tb(10, 10, 60s)};
  EXPECT_EQ(busy.passed(10, plus(0)), 10);
  EXPECT_TRUE(refund(busy.state, busy.limit, 10, plus(0), plus(0)));
  EXPECT_EQ(busy.passed(20, plus(0)), 10);

  Counter refilled{tb(10, 10, 60s)};
  EXPECT_EQ(refilled.passed(10, plus(0)), 10);
  EXPECT_EQ(refilled.passed(5, plus(50)), 5);
  EXPECT_TRUE(refund(refilled.state, refilled.limit, 10, plus(0), plus(50)));
  EXPECT_EQ(refilled.passed(20, plus(50)), 5) << "without the first call it were 10 - 5";
  EXPECT_FALSE(refund(refilled.state, refilled.limit, 10, plus(0), plus(60)));
  EXPECT_EQ(refundable_until(refilled.limit, 10, plus(0)), plus(60));
}

TEST(StoreClock, BridgesASmallStepBackAndRefusesALargeOne) {
  EXPECT_EQ(clamp_clock(kLongAgo, plus(0)).value(), plus(0));
  EXPECT_EQ(clamp_clock(plus(10), plus(11)).value(), plus(11));
  EXPECT_EQ(clamp_clock(plus(10), plus(5)).value(), plus(10));
  const auto refused = clamp_clock(plus(10), plus(5) - 1us);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::clock_stepped_back);
}

TEST(Limit, IsNamedByItsWindow) {
  EXPECT_EQ(window_type(fw(5, 1s)), "RPS");
  EXPECT_EQ(window_type(fw(100, 60s)), "RPM");
  EXPECT_EQ(window_type(sl(100, 1h)), "RPH");
  EXPECT_EQ(window_type(fw(1000, 24h)), "RPD");
  EXPECT_EQ(window_type(fw(7, 90s)), "7/90s");
  EXPECT_EQ(window_type(fw(7, 2min)), "7/2min");
  EXPECT_EQ(window_type(fw(7, 1500ms)), "7/1500ms");
  EXPECT_TRUE(same_shape(fw(5, 60s), fw(9, 60s)));
  EXPECT_FALSE(same_shape(fw(5, 60s), fw(5, 61s)));
  EXPECT_FALSE(same_shape(fw(5, 60s), sl(5, 60s)));
}

}  // namespace
}  // namespace dripgate::core
