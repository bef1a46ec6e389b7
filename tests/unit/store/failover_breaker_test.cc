// The breakers behind the failover store: when nothing waits any more, and how a shard comes back.
#include <random>

#include "unit/store/failover_world.h"

namespace dripgate::store {
namespace {

using State = core::Breaker::State;

TEST_F(FailoverTest, WhileABreakerIsOpenEveryAnswerComesWithinTheCall) {
  shared.health[0] = Health::hangs;
  open_breaker(0);
  const int before = shared.calls[0] - shared.probes[0];
  for (int i = 0; i < 1000; ++i) {
    for (const FailureMode mode : {FailureMode::open, FailureMode::closed, FailureMode::local}) {
      const auto slot = ask({charge("0/a", mode)});
      ASSERT_TRUE(slot->has_value()) << "within the call";
      EXPECT_EQ((*slot)->decision->degraded(), mode);
    }
    executor.run_for(1777us);
  }
  EXPECT_EQ(shared.calls[0] - shared.probes[0], before) << "only probes ask a shard that is away";
  EXPECT_EQ(store->counters().openings.load(), 1u);
}

TEST_F(FailoverTest, TheFirstCallsWaitForTheDeadlineAndSoonNoneDoes) {
  for (int i = 0; i < 2000; ++i) settle({charge("0/a", FailureMode::open)});
  shared.health[0] = Health::hangs;
  int waited = 0;
  while (breaker(0) == State::closed) {
    EXPECT_EQ(settle({charge("0/a", FailureMode::open)}).after, kDeadline);
    ++waited;
  }
  EXPECT_EQ(waited, 5) << "in spite of 2000 successes before";
}

TEST_F(FailoverTest, OneTimeoutAmongAnswersOpensNothing) {
  for (int i = 0; i < 200; ++i) {
    shared.health[0] = i % 10 == 0 ? Health::hangs : Health::well;
    settle({charge("0/a", FailureMode::open)});
  }
  EXPECT_EQ(errors(ErrorCode::timed_out), 20u);
  EXPECT_EQ(breaker(0), State::closed);
}

TEST_F(FailoverTest, ACounterThatCannotBeReadIsTheTroubleOfItsRequestAndOpensNothing) {
  shared.health[0] = Health::refuses;
  for (const ErrorCode code : {ErrorCode::corrupt, ErrorCode::newer_version}) {
    shared.refusal = code;
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(decide({charge("0/a", FailureMode::closed)}).unavailable());
    EXPECT_EQ(errors(code), 50u);
    EXPECT_EQ(breaker(0), State::closed) << "the shard answers";
  }
}

TEST_F(FailoverTest, ADeadShardDoesNotSlowAnother) {
  shared.health[0] = Health::hangs;
  open_breaker(0);
  for (int i = 0; i < 5; ++i) {
    const auto got = settle({charge("1/a", FailureMode::closed)});
    EXPECT_EQ(got.after, kRoundTrip);
    EXPECT_FALSE(got.decision->degraded());
    const auto both = settle({charge("0/a", FailureMode::open), charge("1/a", FailureMode::closed)});
    EXPECT_EQ(both.after, kRoundTrip) << "the dead half of a request costs no time";
  }
  EXPECT_EQ(breaker(1), State::closed);
}

TEST_F(FailoverTest, OneProbeAtATimeTakesNothingAndItsSuccessBringsTheStoreBack) {
  shared.health[0] = Health::hangs;
  open_breaker(0);
  executor.run_for(3s);
  const int probes = shared.probes[0];
  EXPECT_GE(probes, 7) << "every 405 ms";
  EXPECT_LE(probes, 9);
  EXPECT_EQ(store->counters().probes.load(), static_cast<std::uint64_t>(probes));
  shared.health[0] = Health::well;
  executor.run_for(500ms);
  EXPECT_EQ(breaker(0), State::closed) << "without any traffic";
  EXPECT_EQ(shared.probes[0], probes + 1);
  const auto key = charge("0/opening", FailureMode::closed);
  EXPECT_EQ(decide({key}).outcomes[0].remaining, 9) << "probes took nothing from the key they asked for";
  executor.run_for(5s);
  EXPECT_EQ(shared.probes[0], probes + 1) << "no probe while all is well";
}

TEST_F(FailoverTest, RecoveryTakesLessThanASecondHoweverLongTheOutage) {
  for (const Duration outage : std::initializer_list<Duration>{50ms, 130ms, 1s, 7s, 61s, 1h}) {
    shared.health[0] = Health::hangs;
    open_breaker(0);
    executor.run_for(outage);
    shared.health[0] = Health::well;
    const Duration back = executor.elapsed();
    while (decide({charge("0/a", FailureMode::open, core::tb(1000, 1000, 1s))}).degraded())
      executor.run_for(1ms);
    EXPECT_LT(executor.elapsed() - back, 1s);
  }
}

TEST_F(FailoverTest, AShardThatAnswersProbesButRefusesChargesOpensAgain) {
  shared.health[0] = Health::hangs;
  open_breaker(0);
  shared.health[0] = Health::refuses;  // reached again, and says no: READONLY, OOM
  executor.run_for(5s);
  EXPECT_NE(breaker(0), State::closed);
  EXPECT_GT(errors(ErrorCode::unavailable), 8u);
}

TEST_F(FailoverTest, AProbeThatIsNeverAnsweredIsFollowedByAnother) {
  struct Mute final : CounterStore {
    void consume(Charges, Done<core::Decision> done) override { held.push_back(std::move(done)); }
    void peek(Charges, Done<core::Decision>) override {}
    void refund(Refund, Done<bool>) override {}
    void reset(std::string, Done<void>) override {}
    void inspect(Charge, Done<CounterView>) override {}
    std::vector<Done<core::Decision>> held;
  } mute;
  store = std::make_unique<FailoverStore>(mute, shard_of, local, executor, clock);
  for (int i = 0; i < 5; ++i) {
    const auto slot = ask({charge("0/a", FailureMode::open)});
    executor.run_for(6ms);
    std::exchange(mute.held, {}).front()(fail(ErrorCode::timed_out, "by script"));
  }
  ASSERT_EQ(breaker(0), State::open);
  executor.run_for(2500ms);
  EXPECT_EQ(mute.held.size(), 3u) << "after 100 ms, and then every second";
}

TEST_F(FailoverTest, ABreakerThatOpensWhileARequestIsUnderWayHoldsForItsLaterShards) {
  shared.health[1] = Health::hangs;
  for (int i = 0; i < 8; ++i) ask({charge("1/x", FailureMode::open)});
  executor.run_for(kDeadline - kRoundTrip / 2);
  ASSERT_EQ(breaker(1), State::closed);
  const auto got = settle({charge("0/a", FailureMode::closed), charge("1/b", FailureMode::open)});
  EXPECT_EQ(breaker(1), State::open);
  EXPECT_EQ(got.decision->verdict, Verdict::allow);
  EXPECT_EQ(got.decision->degraded(), FailureMode::open);
  EXPECT_EQ(got.after, kRoundTrip) << "of the healthy shard alone";
}

TEST_F(FailoverTest, ShardsBeyondTheLastBreakerShareOneAndNothingBreaks) {
  FailoverStore many(
      shared, [](std::string_view) { return std::size_t{1'000'000'007}; }, local, executor, clock);
  int answers = 0;
  many.consume({charge("0/a", FailureMode::closed)}, [&](Result<core::Decision> got) {
    ++answers;
    EXPECT_EQ(got->verdict, Verdict::allow);
  });
  executor.run_for(1s);
  EXPECT_EQ(answers, 1);
  EXPECT_LE(many.counters().shards.load(), kBreakersMax);
}

/// Random requests over three shards that fail and recover at random: every request is answered once, in
/// time, and an answer says the truth about who decided.
TEST_F(FailoverTest, RandomTroubleLosesNoAnswerAndSpendsNothingOnARefusal) {
  for (const unsigned seed : {1u, 2u, 3u, 4u, 5u}) {
    std::mt19937 random(seed);
    const auto dice = [&](int sides) { return static_cast<int>(random() % static_cast<unsigned>(sides)); };
    constexpr FailureMode kModes[] = {FailureMode::local, FailureMode::open, FailureMode::closed};
    std::vector<std::shared_ptr<std::optional<Answered>>> slots;
    for (int i = 0; i < 3000; ++i) {
      if (dice(40) == 0) shared.health[static_cast<std::size_t>(dice(3))] = static_cast<Health>(dice(4));
      shared.at_once = dice(10) == 0;
      GuardedCharges charges;
      for (int n = 1 + dice(4); n > 0; --n) {
        charges.push_back(charge(std::to_string(dice(3)) + "/k" + std::to_string(dice(5)), kModes[dice(3)],
                                 core::fw(50, 10s), dice(3)));
      }
      slots.push_back(ask(std::move(charges)));
      executor.run_for(Duration{dice(3000)});
    }
    executor.run_for(3 * kDeadline);
    for (const auto& slot : slots) {
      ASSERT_TRUE(slot->has_value()) << "seed " << seed;
      ASSERT_TRUE((*slot)->decision);
      const core::Decision& decision = *(*slot)->decision;
      EXPECT_LE((*slot)->after, 3 * kDeadline);
      EXPECT_EQ(decision.unavailable(), decision.degraded() == FailureMode::closed);
      const core::LimitOutcome& decisive = decision.outcomes.at(decision.decisive);
      EXPECT_EQ(decisive.verdict, decision.verdict);
      if (decision.verdict == Verdict::deny && !decision.unavailable()) {
        EXPECT_TRUE(decisive.has_numbers);
        EXPECT_GT(decisive.retry_after.value_or(1us), 0us);
      }
    }
  }
}

}  // namespace
}  // namespace dripgate::store
