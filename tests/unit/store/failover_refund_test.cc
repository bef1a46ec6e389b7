// Peeks and callers' refunds through FailoverStore.
#include "unit/store/failover_world.h"

namespace dripgate::store {
namespace {

class FailoverRefundTest : public FailoverTest {
 protected:
  Result<bool> refund(Refund back) {
    std::optional<Result<bool>> got;
    store->refund(std::move(back), [&](Result<bool> answer) {
      EXPECT_FALSE(got.has_value()) << "answered twice";
      got = std::move(answer);
    });
    while (!got && executor.run_one()) {
    }
    return got.value_or(fail(ErrorCode::cancelled, "lost"));
  }
  core::Decision peek(GuardedCharges charges) {
    std::optional<core::Decision> got;
    store->peek(std::move(charges), [&](Result<core::Decision> answer) { got = *std::move(answer); });
    while (!got && executor.run_one()) {
    }
    return got.value();
  }

  // Full again only after a minute: a round trip refills nothing.
  const core::Limit limit = core::fw(10, 60s);
  const GuardedCharge here = charge("0/a", FailureMode::closed, limit);
  const GuardedCharge there = charge("1/b", FailureMode::closed, limit);
};

TEST_F(FailoverRefundTest, OfARequestThatCrossedTheEdgeOfAWindowGivesNothingToTheLaterOne) {
  const Duration into = clock.now().time_since_epoch() % 60s;
  clock.advance(60s - into - kRoundTrip - kRoundTrip / 2);  // the edge lies between both shards' answers
  const core::Decision taken = decide({here, there});
  ASSERT_EQ(taken.verdict, Verdict::allow);
  ASSERT_LT(clock.now().time_since_epoch() % 60s, kRoundTrip);
  ASSERT_EQ(decide({charge("0/a", FailureMode::closed, limit, 5)}).verdict, Verdict::allow);
  ASSERT_EQ(shared.left(here.charge), 5);
  (void)refund({.charges = {here.charge, there.charge}, .consumed_at = taken.now, .request_id = "r1"});
  EXPECT_EQ(shared.left(here.charge), 5);
}

TEST_F(FailoverRefundTest, EveryShardGivesBackItsOwn) {
  const core::Decision taken = decide({here, there});
  ASSERT_EQ(taken.verdict, Verdict::allow);
  const Refund back{.charges = {here.charge, there.charge}, .consumed_at = taken.now, .request_id = "r1"};
  shared.health[1] = Health::refuses;
  const auto failed = refund(back);
  ASSERT_FALSE(failed);
  EXPECT_TRUE(failed.error().transient);
  EXPECT_EQ(shared.left(here.charge), 10);
  EXPECT_EQ(shared.left(there.charge), 9);
}

TEST_F(FailoverRefundTest, LogsOfSeveralShardsGiveBackThoughEachWasAskedAtItsOwnTime) {
  const GuardedCharge of_ip = charge("0/ip", FailureMode::closed, core::sl(10, 60s));
  const GuardedCharge of_user = charge("1/user", FailureMode::closed, core::sl(10, 60s));
  const core::Decision taken = decide({of_ip, of_user});
  ASSERT_EQ(taken.verdict, Verdict::allow);
  EXPECT_EQ(refund({.charges = {of_ip.charge, of_user.charge}, .consumed_at = taken.now, .request_id = "r"}),
            true);
  EXPECT_EQ(shared.left(of_ip.charge), 10);
  EXPECT_EQ(shared.left(of_user.charge), 10);
}

TEST_F(FailoverRefundTest, TheSameIdGivesBackOnce) {
  const core::Decision taken = decide({here});
  const Refund back{.charges = {here.charge}, .consumed_at = taken.now, .request_id = "r1"};
  EXPECT_EQ(refund(back), true);
  EXPECT_EQ(refund(back), false);
  EXPECT_EQ(shared.left(here.charge), 10);
}

TEST_F(FailoverRefundTest, BehindAnOpenBreakerNothingIsSent) {
  const core::Decision taken = decide({here, there});
  shared.health[1] = Health::refuses;
  open_breaker(1);
  const std::size_t sent = shared.refunds.size();
  const auto answer =
      refund({.charges = {here.charge, there.charge}, .consumed_at = taken.now, .request_id = "r1"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
  EXPECT_EQ(shared.refunds.size(), sent);
  EXPECT_EQ(refund({.charges = {}, .consumed_at = taken.now, .request_id = "r2"}).error().code,
            ErrorCode::invalid_argument);
}

TEST_F(FailoverRefundTest, APeekTakesNothingOnAnyShardNorLocally) {
  const GuardedCharge local_here = charge("1/c", FailureMode::local, limit);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(peek({here, local_here}).verdict, Verdict::allow);
  EXPECT_EQ(shared.left(here.charge), 10);
  shared.health[1] = Health::refuses;
  open_breaker(1);
  for (int i = 0; i < 30; ++i) {
    const core::Decision decision = peek({here, local_here});
    EXPECT_EQ(decision.verdict, Verdict::allow);
    EXPECT_EQ(decision.outcomes[1].degraded, FailureMode::local);
  }
  EXPECT_EQ(peek({there}).outcomes[0].degraded, FailureMode::closed);
}

TEST_F(FailoverRefundTest, APeekThatALaterShardRefusesShowsNoUnitsAsSpentOnAnEarlierOne) {
  (void)decide({charge("1/b", FailureMode::closed, limit, 10)});
  const core::Decision denied = peek({here, there});
  EXPECT_EQ(denied.verdict, Verdict::deny);
  EXPECT_FALSE(denied.outcomes[0].has_numbers);
  const auto of_none = [&](const GuardedCharge& of) {
    return charge(of.charge.key, FailureMode::closed, limit, 0);
  };
  const core::Decision none = peek({of_none(here), of_none(there)});
  EXPECT_EQ(none.verdict, Verdict::deny);
  EXPECT_EQ(none.outcomes[0].remaining, 10);
}

}  // namespace
}  // namespace dripgate::store
