// What each failure mode answers, alone and mixed, on one shard and on several.
#include "unit/store/failover_world.h"

namespace dripgate::store {
namespace {

using core::fw;
using core::sl;
using core::tb;

TEST_F(FailoverTest, AHealthyStoreDecidesAndNothingIsDegraded) {
  const auto decision = decide({charge("0/a", FailureMode::closed), charge("0/b", FailureMode::open)});
  EXPECT_EQ(decision.verdict, Verdict::allow);
  EXPECT_FALSE(decision.degraded());
  for (const auto& outcome : decision.outcomes) {
    EXPECT_TRUE(outcome.has_numbers);
    EXPECT_EQ(outcome.remaining, 9);
  }
  EXPECT_EQ(decision.now, clock.now()) << "the store's time";
  EXPECT_EQ(shared.calls[0], 1) << "charges of one shard travel together";
}

/// Every way in which a shard can fail, with the time the answer may take.
struct Failure {
  const char* name;
  ScriptedStore::Health health;
  ErrorCode code;
  Duration after;
};
void PrintTo(const Failure& failure, std::ostream* out) {
  *out << failure.name;
}
class FailoverModes : public FailoverTest, public ::testing::WithParamInterface<Failure> {
 protected:
  void SetUp() override {
    shared.health[0] = GetParam().health;
    shared.refusal = GetParam().code;
  }
};

TEST_P(FailoverModes, OpenAllowsWithoutNumbers) {
  const auto got = settle({charge("0/a", FailureMode::open, fw(0, 60s))});
  ASSERT_TRUE(got.decision);
  EXPECT_EQ(got.decision->verdict, Verdict::allow);
  EXPECT_EQ(got.decision->degraded(), FailureMode::open);
  EXPECT_FALSE(got.decision->outcomes[0].has_numbers);
  EXPECT_EQ(got.after, GetParam().after) << "no longer than the store's own deadline";
  EXPECT_EQ(degraded(FailureMode::open), 1u);
  EXPECT_EQ(errors(GetParam().code), 1u);
}

TEST_P(FailoverModes, ClosedRefusesAsUnavailableNotAsLimited) {
  const auto decision = decide({charge("0/a", FailureMode::closed)});
  EXPECT_EQ(decision.verdict, Verdict::deny);
  EXPECT_TRUE(decision.unavailable());
  EXPECT_FALSE(decision.outcomes[0].has_numbers);
  EXPECT_FALSE(decision.outcomes[0].retry_after);
  EXPECT_EQ(degraded(FailureMode::closed), 1u);
}

TEST_P(FailoverModes, LocalDecidesByThisProcessShareAndSaysItsNumbers) {
  local.set_instances(3);
  const auto guarded = charge("0/a", FailureMode::local);  // a third of 10: bursts of 3, one unit in 18 s
  for (const core::Units remaining : {2, 1, 0}) {
    const auto decision = decide({guarded});
    EXPECT_EQ(decision.verdict, Verdict::allow);
    EXPECT_EQ(decision.degraded(), FailureMode::local);
    EXPECT_TRUE(decision.outcomes[0].has_numbers);
    EXPECT_EQ(decision.outcomes[0].remaining, remaining);
    EXPECT_EQ(decision.now, clock.now());
  }
  const auto refused = decide({guarded});
  EXPECT_EQ(refused.verdict, Verdict::deny);
  EXPECT_FALSE(refused.unavailable());
  EXPECT_EQ(refused.degraded(), FailureMode::local);
  ASSERT_TRUE(refused.outcomes[0].retry_after);
  const Duration wait = *refused.outcomes[0].retry_after;
  EXPECT_GT(wait, 17s);
  EXPECT_LE(wait, 18s);
}

TEST_P(FailoverModes, OneClosedPolicyRefusesTheRequestAndNothingIsSpentOnTheOthers) {
  const auto mine = charge("0/l", FailureMode::local, tb(1, 1, 60s));
  const auto decision = decide({mine, charge("0/o", FailureMode::open), charge("0/c", FailureMode::closed)});
  EXPECT_TRUE(decision.unavailable());
  EXPECT_EQ(decision.decisive, 2u);
  EXPECT_EQ(decide({mine}).verdict, Verdict::allow) << "its only local unit is still there";
}

TEST_P(FailoverModes, OpenAndLocalTogetherShowTheLocalNumbers) {
  const auto decision = decide({charge("0/o", FailureMode::open), charge("0/l", FailureMode::local)});
  EXPECT_EQ(decision.verdict, Verdict::allow);
  EXPECT_EQ(decision.decisive, 1u);
  EXPECT_EQ(decision.degraded(), FailureMode::local);
}

INSTANTIATE_TEST_SUITE_P(
    Every, FailoverModes,
    ::testing::Values(
        Failure{"TimedOut", ScriptedStore::Health::hangs, ErrorCode::timed_out, kDeadline},
        Failure{"TimedOutAfterCounting", ScriptedStore::Health::too_late, ErrorCode::timed_out, kDeadline},
        Failure{"Unavailable", ScriptedStore::Health::refuses, ErrorCode::unavailable, kRoundTrip},
        Failure{"OutOfMemory", ScriptedStore::Health::refuses, ErrorCode::full, kRoundTrip},
        Failure{"ClockSteppedBack", ScriptedStore::Health::refuses, ErrorCode::clock_stepped_back,
                kRoundTrip},
        Failure{"Corrupt", ScriptedStore::Health::refuses, ErrorCode::corrupt, kRoundTrip}),
    [](const auto& param) { return std::string(param.param.name); });

TEST_F(FailoverTest, AWrongRequestIsTheCallersFaultWhateverTheMode) {
  shared.health[0] = Health::refuses;
  shared.refusal = ErrorCode::invalid_argument;
  for (int i = 0; i < 50; ++i) {
    const auto got = settle({charge("0/a", FailureMode::open)});
    ASSERT_FALSE(got.decision);
    EXPECT_EQ(got.decision.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(breaker(0), core::Breaker::State::closed) << "the shard answers";
  EXPECT_EQ(settle({}).decision.error().code, ErrorCode::invalid_argument);
  const GuardedCharges many(33, charge("0/a", FailureMode::open));
  EXPECT_EQ(settle(many).decision.error().code, ErrorCode::invalid_argument);
}

TEST_F(FailoverTest, AStoreThatAnswersAtOnceIsAskedOnceAndFailsAsAnyOther) {
  shared.at_once = true;
  store = std::make_unique<FailoverStore>(shared, shard_of, local, executor, clock, core::BreakerSettings{},
                                          StoreAnswers::at_once);
  const auto first = charge("0/a", FailureMode::closed, tb(5, 5, 60s), 3);
  const core::Decision allowed = decide({first, charge("0/b", FailureMode::closed)});
  EXPECT_EQ(allowed.verdict, Verdict::allow);
  EXPECT_EQ(allowed.outcomes[0].remaining, 2);
  EXPECT_EQ(shared.calls[0], 1);
  const core::Decision denied = decide({charge("0/b", FailureMode::closed), first});
  EXPECT_EQ(denied.verdict, Verdict::deny);
  EXPECT_EQ(denied.decisive, 1u);
  EXPECT_EQ(shared.left(charge("0/b", FailureMode::closed).charge), 9) << "a refusal takes nothing";
  EXPECT_EQ(decide({first, charge("1/b", FailureMode::closed)}).verdict, Verdict::deny);
  EXPECT_EQ(shared.left(charge("1/b", FailureMode::closed).charge), 10) << "nor on another shard";
}

TEST_F(FailoverTest, AWrongRequestIsNoLocalAllowEither) {
  shared.health[0] = Health::hangs;
  shared.at_once = true;
  const auto good = charge("1/a", FailureMode::closed, tb(5, 5, 60s));
  const auto got = settle({good, charge("0/x", FailureMode::local, tb(5, 5, 60s), -1)});
  ASSERT_FALSE(got.decision);
  EXPECT_EQ(got.decision.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(shared.left(good.charge), 5) << "what the other shard took is given back";
}

TEST_F(FailoverTest, ALocalTableThatIsFullIsNoAllow) {
  LocalCounters tiny{clock, 1};
  store = std::make_unique<FailoverStore>(shared, shard_of, tiny, executor, clock);
  shared.health[0] = Health::hangs;
  EXPECT_EQ(decide({charge("0/a", FailureMode::local)}).verdict, Verdict::allow);
  int unavailable = 0;
  for (int i = 0; i < 8; ++i)
    unavailable += decide({charge("0/other" + std::to_string(i), FailureMode::local)}).unavailable() ? 1 : 0;
  EXPECT_GE(unavailable, 7);
}

TEST_F(FailoverTest, AHealthyShardIsAskedWhileAnotherFails) {
  shared.health[1] = Health::hangs;
  const auto decision =
      decide({charge("0/a", FailureMode::closed, tb(10, 10, 60s)),
              charge("1/b", FailureMode::local, tb(4, 4, 60s)), charge("1/c", FailureMode::open)});
  EXPECT_EQ(decision.verdict, Verdict::allow);
  EXPECT_EQ(decision.outcomes[0].degraded, std::nullopt);
  EXPECT_EQ(decision.outcomes[0].remaining, 9);
  EXPECT_EQ(decision.outcomes[1].degraded, FailureMode::local);
  EXPECT_EQ(decision.outcomes[1].remaining, 3);
  EXPECT_EQ(decision.outcomes[2].degraded, FailureMode::open);
  EXPECT_EQ(decision.decisive, 1u);
}

TEST_F(FailoverTest, ALaterDenialGivesBackWhatAnEarlierShardTook) {
  const auto first = charge("0/a", FailureMode::closed, fw(5, 60s), 2);
  const auto last = charge("1/b", FailureMode::closed, fw(1, 60s));
  EXPECT_EQ(decide({first, last}).verdict, Verdict::allow);
  for (int i = 0; i < 3; ++i) {
    const auto refused = decide({first, last});
    EXPECT_EQ(refused.verdict, Verdict::deny);
    EXPECT_EQ(refused.decisive, 1u);
    EXPECT_FALSE(refused.outcomes[0].has_numbers) << "they were given back";
    executor.run_for(kDeadline);
  }
  EXPECT_EQ(shared.left(first.charge), 3);
  ASSERT_EQ(shared.refunds.size(), 3u);
  EXPECT_NE(shared.refunds[0].request_id, shared.refunds[1].request_id);
}

TEST_F(FailoverTest, RequestIdsOfTwoStoresDiffer) {
  FailoverStore other(shared, shard_of, local, executor, clock);
  const GuardedCharges charges = {charge("0/a", FailureMode::closed),
                                  charge("1/b", FailureMode::closed, fw(0, 60s))};
  for (FailoverStore* asked : {store.get(), &other}) asked->consume(charges, [](Result<core::Decision>) {});
  executor.run_for(1s);
  ASSERT_EQ(shared.refunds.size(), 2u);
  EXPECT_NE(shared.refunds[0].request_id, shared.refunds[1].request_id);
  EXPECT_EQ(shared.left(charges[0].charge), 10);
}

TEST_F(FailoverTest, ALocalDenialGivesBackWhatTheStoreTook) {
  shared.health[1] = Health::hangs;
  const auto healthy = charge("0/a", FailureMode::closed, fw(5, 60s));
  const auto away = charge("1/b", FailureMode::local, tb(1, 1, 60s));
  EXPECT_EQ(decide({healthy, away}).verdict, Verdict::allow);
  const auto refused = decide({healthy, away});
  EXPECT_EQ(refused.verdict, Verdict::deny);
  EXPECT_EQ(refused.decisive, 1u);
  executor.run_for(kDeadline);
  EXPECT_EQ(shared.left(healthy.charge), 4);
}

TEST_F(FailoverTest, AStoreDenialGivesBackWhatWasTakenLocally) {
  shared.health[1] = Health::hangs;
  open_breaker(1);
  const auto away = charge("1/b", FailureMode::local, tb(1, 1, 60s));
  const auto refused = decide({charge("0/a", FailureMode::closed, fw(0, 60s)), away});
  EXPECT_EQ(refused.verdict, Verdict::deny);
  EXPECT_EQ(refused.decisive, 0u);
  EXPECT_EQ(decide({away}).verdict, Verdict::allow) << "the one local unit is still there";
  EXPECT_EQ(decide({away}).verdict, Verdict::deny);
}

TEST_F(FailoverTest, ALocalRefusalThatIsKnownAtOnceAsksNoShard) {
  shared.health[1] = Health::hangs;
  open_breaker(1);
  const int before = shared.calls[0];
  const auto got =
      settle({charge("0/a", FailureMode::closed), charge("1/b", FailureMode::local, fw(0, 60s))});
  EXPECT_EQ(got.decision->verdict, Verdict::deny);
  EXPECT_EQ(got.after, 0us);
  EXPECT_TRUE(decide({charge("0/a", FailureMode::closed), charge("1/c", FailureMode::closed)}).unavailable());
  EXPECT_EQ(shared.calls[0], before);
}

TEST_F(FailoverTest, WhatCannotBeGivenBackStaysSpent) {
  const auto healthy = charge("0/a", FailureMode::closed, fw(5, 60s));
  const auto slot = ask({healthy, charge("1/b", FailureMode::closed, fw(0, 60s))});
  executor.run_for(kRoundTrip);
  shared.health[0] = Health::hangs;
  executor.run_for(2 * kDeadline);
  EXPECT_EQ((*slot)->decision->verdict, Verdict::deny);
  EXPECT_EQ(shared.left(healthy.charge), 4);
  EXPECT_EQ(store->counters().refunds_lost.load(), 1u);
}

TEST_F(FailoverTest, AStoreDestroyedWithRequestsUnderWayLeavesThemAlone) {
  bool answered = false;
  store->consume({charge("0/a", FailureMode::open)}, [&](Result<core::Decision>) { answered = true; });
  store.reset();
  executor.run_for(1s);
  EXPECT_FALSE(answered);
}

TEST_F(FailoverTest, DoneMayDestroyTheStore) {
  shared.health[0] = Health::hangs;
  store->consume({charge("0/a", FailureMode::open)}, [&](Result<core::Decision>) { store.reset(); });
  executor.run_for(10ms);
  EXPECT_EQ(store, nullptr);
}

}  // namespace
}  // namespace dripgate::store
