// The CounterStore port on every backend. The clock starts at kT0, a whole minute.
#include "base/limits.h"
#include "conformance/counter_fixture.h"
#include "store/counter_calls.h"

namespace dripgate::testing {
namespace {

using core::Verdict;

class Counters : public CounterConformance {};

INSTANTIATE_TEST_SUITE_P(Backends, Counters, ::testing::ValuesIn(all_backends()), backend_name);

const core::Limit kWindow = per(10, 60s);
const core::Limit kLog = log_of(10, 60s);
const core::Limit kBucket = bucket(100, 60s, 20);
const std::vector<core::Limit> kKinds{kWindow, kLog, kBucket};

TEST_P(Counters, AdmitExactlyTheLimitAtOnce) {
  EXPECT_EQ(allowed(kWindow, 30), 10);
  EXPECT_TRUE(reset("k"));
  EXPECT_EQ(allowed(kLog, 30), 10);
  EXPECT_TRUE(reset("k"));
  EXPECT_EQ(allowed(kBucket, 30), 20);
}

TEST_P(Counters, WaitingExactlyThePromisedTimeSufficesAndOneMicrosecondLessDoesNot) {
  for (const core::Limit& limit : kKinds) {
    EXPECT_TRUE(reset("k"));
    clock.advance(7s);
    (void)allowed(limit, 20);
    for (const core::Units cost : {1, 3}) {
      const core::Decision denied = consume(limit, cost);
      ASSERT_EQ(denied.verdict, Verdict::deny);
      const auto wait = denied.outcomes[0].retry_after;
      ASSERT_TRUE(wait);
      EXPECT_GT(*wait, Duration{0});
      clock.advance(*wait - Duration{1});
      EXPECT_EQ(consume(limit, cost).verdict, Verdict::deny);
      EXPECT_EQ(peek(limit, cost).outcomes[0].retry_after, Duration{1});
      clock.advance(Duration{1});
      EXPECT_EQ(consume(limit, cost).verdict, Verdict::allow);
      (void)allowed(limit, 20);
    }
  }
}

TEST_P(Counters, APromiseHoldsAfterTheRateWasRaisedOrLowered) {
  EXPECT_EQ(allowed(bucket(1, 60s, 5), 9), 5);
  for (const core::Limit& limit : {bucket(60, 60s, 5), bucket(2, 60s, 5), bucket(7, 90s, 5)}) {
    const core::Decision denied = consume(limit, 2);
    ASSERT_EQ(denied.verdict, Verdict::deny);
    clock.advance(*denied.outcomes[0].retry_after - Duration{1});
    EXPECT_EQ(consume(limit, 2).verdict, Verdict::deny);
    clock.advance(Duration{1});
    EXPECT_EQ(consume(limit, 2).verdict, Verdict::allow);
  }
}

TEST_P(Counters, TheTwentyFirstCallOfTheFirstPolicyIsToldOneSecond) {
  for (int i = 0; i < 20; ++i) {
    const core::Decision decision = consume(kBucket);
    EXPECT_EQ(decision.verdict, Verdict::allow);
    EXPECT_EQ(decision.outcomes[0].remaining, 19 - i);
    EXPECT_EQ(decision.now, kT0);
  }
  const core::Decision denied = consume(kBucket);
  EXPECT_EQ(denied.verdict, Verdict::deny);
  EXPECT_EQ(denied.outcomes[0].remaining, 0);
  EXPECT_EQ(denied.outcomes[0].retry_after, 600ms);
  EXPECT_EQ(denied.outcomes[0].reset_after, 12s);
}

TEST_P(Counters, ADenialSpendsNothingAndLosesNoFraction) {
  EXPECT_EQ(allowed(kBucket, 20), 20);
  for (int i = 0; i < 599; ++i) {
    clock.advance(1ms);
    EXPECT_EQ(consume(kBucket).verdict, Verdict::deny);
  }
  clock.advance(1ms);
  EXPECT_EQ(consume(kBucket).verdict, Verdict::allow);
  EXPECT_EQ(consume(kBucket).verdict, Verdict::deny);
}

TEST_P(Counters, APeekSpendsNothing) {
  for (const core::Limit& limit : kKinds) {
    EXPECT_TRUE(reset("k"));
    const core::Units full = limit.max_cost();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(peek(limit, 4).outcomes[0].remaining, full - 4);
    EXPECT_EQ(consume(limit, full).verdict, Verdict::allow);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(peek(limit).verdict, Verdict::deny);
  }
}

TEST_P(Counters, ACostOfZeroAsksWithoutTaking) {
  for (const core::Limit& limit : kKinds) {
    EXPECT_TRUE(reset("k"));
    const core::Units full = limit.max_cost();
    for (int i = 0; i < 3; ++i) {
      const core::Decision asked = consume(limit, 0);
      EXPECT_EQ(asked.verdict, Verdict::allow);
      EXPECT_EQ(asked.outcomes[0].remaining, full);
    }
    EXPECT_EQ(consume(limit, full).verdict, Verdict::allow);
    EXPECT_EQ(consume(limit, 0).verdict, Verdict::deny);
  }
}

TEST_P(Counters, ACostAboveTheCapacityIsImpossibleAndALimitOfZeroAdmitsNobody) {
  for (const core::Limit& limit : kKinds) {
    EXPECT_TRUE(reset("k"));
    const core::Decision impossible = consume(limit, limit.max_cost() + 1);
    EXPECT_EQ(impossible.verdict, Verdict::impossible);
    EXPECT_EQ(impossible.outcomes[0].retry_after, std::nullopt);
    EXPECT_EQ(impossible.outcomes[0].remaining, limit.max_cost());
  }
  for (const core::Limit& nobody : {per(0, 60s), log_of(0, 60s), bucket(0, 60s, 0)}) {
    EXPECT_TRUE(reset("k"));
    const core::Decision denied = consume(nobody);
    EXPECT_EQ(denied.verdict, Verdict::deny);
    EXPECT_EQ(denied.outcomes[0].retry_after, std::nullopt);
    EXPECT_EQ(denied.outcomes[0].remaining, 0);
  }
}

TEST_P(Counters, AllOfSeveralKindsAreTakenOrNone) {
  const store::Charges mixed{charge("w", per(5, 60s)), charge("l", log_of(3, 60s)),
                             charge("b", bucket(60, 60s, 4), 2)};
  EXPECT_EQ(consume(mixed).verdict, Verdict::allow);
  EXPECT_EQ(consume(mixed).verdict, Verdict::allow);
  const core::Decision denied = consume(mixed);  // the bucket is empty, the others are not
  EXPECT_EQ(denied.verdict, Verdict::deny);
  EXPECT_EQ(denied.decisive, 2u);
  EXPECT_EQ(denied.outcomes[2].retry_after, 2s);
  EXPECT_EQ(denied.outcomes[0].remaining, 3);
  EXPECT_EQ(denied.outcomes[1].remaining, 1);
  EXPECT_EQ(inspect(mixed[0]).outcome.remaining, 3);
  EXPECT_EQ(inspect(mixed[1]).outcome.remaining, 1);
  clock.advance(2s);
  EXPECT_EQ(consume(mixed).verdict, Verdict::allow);
  const core::Decision longest = consume(mixed);  // now the log is full too: the longest wait decides
  EXPECT_EQ(longest.decisive, 1u);
  EXPECT_EQ(longest.outcomes[1].retry_after, 58s);
}

TEST_P(Counters, ARequestThatNamesOneKeyTwiceCountsTwice) {
  const store::Charges twice{charge("k", kWindow, 4), charge("k", kWindow, 3)};
  EXPECT_EQ(consume(twice).verdict, Verdict::allow);
  EXPECT_EQ(peek(kWindow, 3).outcomes[0].remaining, 0);
  EXPECT_EQ(consume(twice).verdict, Verdict::deny);
  EXPECT_EQ(inspect(charge("k", kWindow)).outcome.remaining, 3);
}

TEST_P(Counters, ARefundGivesBackOncePerRequestId) {
  for (const core::Limit& limit : kKinds) {
    EXPECT_TRUE(reset("k"));
    const std::string id = "request-" + std::to_string(static_cast<int>(limit.algorithm));
    EXPECT_EQ(consume(limit, 4).verdict, Verdict::allow);
    const store::Charges taken{charge("k", limit, 4)};
    EXPECT_TRUE(refund(taken, clock.now(), id));
    EXPECT_FALSE(refund(taken, clock.now(), id));
    EXPECT_EQ(inspect(charge("k", limit)).outcome.remaining, limit.max_cost());
    EXPECT_EQ(allowed(limit, 30), limit.max_cost());
    EXPECT_FALSE(refund(taken, clock.now(), id));
    EXPECT_EQ(consume(limit).verdict, Verdict::deny);
  }
}

TEST_P(Counters, ARefundIsOneAskingForAllItsKeysWhateverEachOfThemHadToGive) {
  const store::Charges taken{charge("k", kWindow, 1), charge("other", kWindow, 1)};
  EXPECT_EQ(consume(taken).verdict, Verdict::allow);
  EXPECT_TRUE(reset("k"));
  EXPECT_TRUE(refund(taken, clock.now(), "r"));
  EXPECT_EQ(consume(taken).verdict, Verdict::allow);
  EXPECT_FALSE(refund(taken, clock.now(), "r"));

  EXPECT_TRUE(reset("k"));
  EXPECT_FALSE(refund({charge("k", kWindow, 1)}, clock.now(), "nothing to give"));
  EXPECT_EQ(consume(kWindow, 1).verdict, Verdict::allow);
  EXPECT_FALSE(refund({charge("k", kWindow, 1)}, clock.now(), "nothing to give"));
}

TEST_P(Counters, ARefundNeverReachesALaterWindow) {
  const WallTime taken_at = clock.now();
  EXPECT_EQ(consume(kWindow, 10).verdict, Verdict::allow);
  clock.advance(60s);
  EXPECT_EQ(consume(kWindow, 10).verdict, Verdict::allow);
  EXPECT_FALSE(refund({charge("k", kWindow, 10)}, taken_at, "late"));
  EXPECT_EQ(consume(kWindow).verdict, Verdict::deny);
}

TEST_P(Counters, ARefundIntoALogGivesBackWhatHasNotLeftIt) {
  const WallTime taken_at = clock.now();
  EXPECT_EQ(consume(kLog, 6).verdict, Verdict::allow);
  clock.advance(30s);
  EXPECT_EQ(consume(kLog, 4).verdict, Verdict::allow);
  EXPECT_TRUE(refund({charge("k", kLog, 6)}, taken_at, "one"));
  EXPECT_EQ(inspect(charge("k", kLog)).outcome.remaining, 6);
  clock.advance(30s);
  EXPECT_FALSE(refund({charge("k", kLog, 6)}, taken_at, "two"));
  EXPECT_EQ(inspect(charge("k", kLog)).outcome.remaining, 6);
}

/// A request on several nodes is refunded by the time of the first of them.
TEST_P(Counters, ARefundIntoALogFindsWhatWasTakenALittleLaterThanItSays) {
  const WallTime before = clock.now();
  clock.advance(300us);
  EXPECT_EQ(consume(kLog, 1).verdict, Verdict::allow);
  clock.advance(300us);
  EXPECT_EQ(consume(kLog, 4).verdict, Verdict::allow);
  clock.advance(300us);
  EXPECT_EQ(consume(kLog, 5).verdict, Verdict::allow);
  EXPECT_TRUE(refund({charge("k", kLog, 4)}, before, "the second's"));
  EXPECT_EQ(inspect(charge("k", kLog)).outcome.remaining, 4);
  clock.set(before + 60s +
            300us);  // what the first took is over, and was given back in place of the second's
  EXPECT_EQ(inspect(charge("k", kLog)).outcome.remaining, 4);
  clock.set(before + 60s + 600us);
  EXPECT_EQ(inspect(charge("k", kLog)).outcome.remaining, 5);
}

TEST_P(Counters, ARefundIntoALogTakesNothingOfWhatCameMuchLater) {
  const WallTime before = clock.now();
  clock.advance(250ms + Duration{1});
  EXPECT_EQ(consume(kLog, 4).verdict, Verdict::allow);
  EXPECT_FALSE(refund({charge("k", kLog, 4)}, before, "r"));
  EXPECT_EQ(inspect(charge("k", kLog)).outcome.remaining, 6);
}

TEST_P(Counters, ARefundIntoABucketGivesNothingThatWasRefilledMeanwhile) {
  const WallTime taken_at = clock.now();
  EXPECT_EQ(allowed(kBucket, 20), 20);
  clock.advance(1200ms);  // two units are back
  EXPECT_TRUE(refund({charge("k", kBucket, 5)}, taken_at, "one"));
  EXPECT_EQ(inspect(charge("k", kBucket)).outcome.remaining, 5);
  clock.advance(3s);
  EXPECT_FALSE(refund({charge("k", kBucket, 5)}, taken_at, "two"));
}

TEST_P(Counters, ARefundIntoABucketThatNeverRefillsGivesWholeUnitsOnly) {
  const WallTime taken_at = clock.now();
  EXPECT_EQ(consume(bucket(7, 90s, 5)).verdict, Verdict::allow);
  clock.advance(1s);
  const core::Limit stopped = bucket(0, 90s, 1);
  EXPECT_EQ(consume(stopped).verdict, Verdict::allow);
  EXPECT_TRUE(refund({charge("k", bucket(7, 90s, 5))}, taken_at, "r"));  // less than one unit: 83/90
  EXPECT_EQ(consume(stopped).verdict, Verdict::deny);
}

TEST_P(Counters, ARefundOfAnUnknownKeyGivesNothing) {
  for (const core::Limit& limit : kKinds) {
    EXPECT_FALSE(refund({charge("never", limit, 2)}, clock.now(), "r"));
  }
}

TEST_P(Counters, LimitChangesCarryStateAndALowerCapacityClamps) {
  EXPECT_EQ(allowed(kWindow, 6), 6);
  EXPECT_EQ(consume(per(4, 60s)).verdict, Verdict::deny);
  EXPECT_EQ(consume(per(12, 60s), 6).verdict, Verdict::allow);
  EXPECT_EQ(consume(per(12, 60s)).verdict, Verdict::deny);

  EXPECT_TRUE(reset("k"));
  EXPECT_EQ(allowed(kLog, 6), 6);
  EXPECT_EQ(consume(log_of(4, 60s)).verdict, Verdict::deny);
  EXPECT_EQ(consume(log_of(12, 60s), 6).verdict, Verdict::allow);

  EXPECT_TRUE(reset("k"));
  EXPECT_EQ(consume(kBucket, 2).verdict, Verdict::allow);
  EXPECT_EQ(consume(bucket(100, 60s, 5), 1).outcomes[0].remaining, 4);
  EXPECT_EQ(consume(kBucket, 5).verdict, Verdict::deny);  // raised again: nothing is gifted
  EXPECT_EQ(consume(kBucket, 4).verdict, Verdict::allow);
}

TEST_P(Counters, AClockStepOfFiveSecondsIsBridgedAndALargerOneIsAFailure) {
  for (const core::Limit& limit : kKinds) {
    EXPECT_TRUE(reset("k"));
    const core::Units full = limit.max_cost();
    EXPECT_EQ(consume(limit, full).verdict, Verdict::allow);
    const WallTime latest = clock.now();
    clock.set(latest - 5s);
    EXPECT_EQ(consume(limit).verdict, Verdict::deny);
    EXPECT_EQ(consume({charge("new", limit)}).now, latest);
    clock.set(latest - 5s - Duration{1});
    const auto failed = try_consume({charge("k", limit)});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::clock_stepped_back);
    clock.set(latest + limit.window);
    EXPECT_EQ(consume(limit, full).verdict, Verdict::allow);
    EXPECT_TRUE(reset("new"));
  }
}

TEST_P(Counters, AClockThatStepsBackOverAWindowEdgeAdmitsNoSecondWindow) {
  clock.set(kT0 + 59s);
  EXPECT_EQ(allowed(kWindow, 20), 10);
  clock.set(kT0 + 61s);
  EXPECT_EQ(allowed(kWindow, 20), 10);
  clock.set(kT0 + 58s);
  EXPECT_EQ(allowed(kWindow, 20), 0);
  clock.set(kT0 + 61s);
  EXPECT_EQ(allowed(kWindow, 20), 0);
}

TEST_P(Counters, AnIdleKeyIsAsGoodAsNew) {
  for (const core::Limit& limit : kKinds) {
    EXPECT_TRUE(reset("k"));
    EXPECT_FALSE(inspect(charge("k", limit)).exists);
    EXPECT_EQ(consume(limit, limit.max_cost()).verdict, Verdict::allow);
    EXPECT_TRUE(inspect(charge("k", limit)).exists);
    clock.advance(std::chrono::hours{100});
    for (int i = 0; i < 50; ++i) (void)consume({charge("other" + std::to_string(i), limit)});
    const store::CounterView idle = inspect(charge("k", limit));
    EXPECT_FALSE(idle.exists);
    EXPECT_EQ(idle.outcome.remaining, limit.max_cost());
    EXPECT_EQ(consume(limit, limit.max_cost()).verdict, Verdict::allow);
  }
}

TEST_P(Counters, ADebtOutlivesEveryOtherKey) {
  const core::Limit never_refills = bucket(0, 60s, 3);
  EXPECT_EQ(allowed(never_refills, 5), 3);
  for (int day = 0; day < 30; ++day) {
    clock.advance(std::chrono::hours{24});
    for (int i = 0; i < 10; ++i) (void)consume({charge(std::to_string(i), kWindow)});
  }
  EXPECT_EQ(allowed(never_refills, 5), 0);
}

TEST_P(Counters, ResetForgetsOneKey) {
  EXPECT_EQ(allowed(kWindow, 20), 10);
  EXPECT_EQ(consume({charge("other", kWindow, 10)}).verdict, Verdict::allow);
  EXPECT_TRUE(reset("k"));
  EXPECT_EQ(allowed(kWindow, 20), 10);
  EXPECT_EQ(consume({charge("other", kWindow)}).verdict, Verdict::deny);
}

TEST_P(Counters, ARequestThatMeansNothingIsRefused) {
  const auto code = [&](store::Charges charges) {
    const auto answer = try_consume(charges);
    return answer ? std::string("answered") : std::string(to_string(answer.error().code));
  };
  EXPECT_EQ(code({}), "invalid_argument");
  EXPECT_EQ(code({charge("k", kWindow, -1)}), "invalid_argument");
  EXPECT_EQ(code({charge("", kWindow)}), "invalid_argument");
  EXPECT_EQ(code({charge("\x01"
                         "clock",
                         kWindow)}),
            "invalid_argument");
  EXPECT_EQ(code({charge("k", per(1, 0s))}), "invalid_argument");
  EXPECT_EQ(code({charge("k", per(-1, 60s))}), "invalid_argument");
  EXPECT_EQ(code({charge("k", per(store::kCounterUnitsMax + 1, 60s))}), "invalid_argument");
  EXPECT_EQ(code(store::Charges(kChargesPerRequestMax + 1, charge("k", kWindow))), "invalid_argument");
  EXPECT_EQ(consume(kWindow).outcomes[0].remaining, 9);
}

TEST_P(Counters, EachCalendarDayGrantsItsQuotaOnce) {
  const auto zone = std::make_shared<Zone>(Zone{"Test/Ahead", {{kLongAgo, std::chrono::minutes{330}}}});
  core::Limit day = per(2, std::chrono::hours{24});
  day.zone = zone;
  EXPECT_EQ(allowed(day, 5), 2);  // 13:30 local time
  const core::Decision denied = consume(day);
  EXPECT_EQ(denied.outcomes[0].retry_after, std::chrono::minutes{630});
  clock.advance(*denied.outcomes[0].retry_after - Duration{1});
  EXPECT_EQ(allowed(day, 5), 0);
  clock.advance(Duration{1});
  EXPECT_EQ(allowed(day, 5), 2);
}

}  // namespace
}  // namespace dripgate::testing
