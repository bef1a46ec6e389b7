// Refunds by id, and idempotency.
#include <gtest/gtest.h>

#include "unit/check/world.h"

namespace dripgate::check {
namespace {

constexpr const char* kTen = "    - { id: p, key: [user], limit: 10, window: 60s, onStoreFailure: local }\n";

TEST(Refund, GivesBackWhatACheckTookAndOnlyOnce) {
  World world(kTen);
  const std::string id = world.check({{"user", "a"}}, 4).refund_id;
  ASSERT_FALSE(id.empty());
  EXPECT_EQ(world.check({{"user", "a"}}).deciding()->numbers()->remaining, 5);
  EXPECT_EQ(world.refund(id), true);
  EXPECT_EQ(world.refund(id), false);
  EXPECT_EQ(world.peek({{"user", "a"}}, 0).deciding()->numbers()->remaining, 9);
}

TEST(Refund, NeverGoesIntoALaterWindow) {
  World world(kTen);
  const std::string id = world.check({{"user", "a"}}, 4).refund_id;
  world.clock.advance(60s);
  EXPECT_EQ(world.check({{"user", "a"}}).deciding()->numbers()->remaining, 9);
  EXPECT_EQ(world.refund(id), false);
  EXPECT_EQ(world.peek({{"user", "a"}}, 0).deciding()->numbers()->remaining, 9);
}

TEST(Refund, TakesNoIdThatNoCheckGaveOut) {
  World world(kTen);
  std::string id = world.check({{"user", "a"}}, 4).refund_id;
  for (const std::string& forged :
       {std::string(), std::string("aWQ="), std::string("?"), id + "AAAA", std::string(100'000, 'A')}) {
    const auto answer = world.refund(forged);
    ASSERT_FALSE(answer) << forged;
    EXPECT_EQ(answer.error().code, ErrorCode::invalid_argument);
  }
  for (std::size_t i = 0; i < id.size(); ++i) {
    std::string bent = id;
    bent[i] = bent[i] == 'A' ? 'B' : 'A';
    if (bent != id) EXPECT_FALSE(world.refund(bent).value_or(false)) << i;
  }
  EXPECT_EQ(world.refund(id), true);
}

TEST(Refund, GoesByTheOverrideThatWasChargedAndByTheLimitsInForceNow) {
  World world(R"(
    - id: p
      key: [user]
      limit: 1
      window: 60s
      onStoreFailure: closed
      overrides: [ { value: big, limits: [ { rpm: 10 }, { rph: 20 } ] } ]
)");
  const std::string id = world.check({{"user", "big"}}, 10).refund_id;
  EXPECT_FALSE(world.check({{"user", "big"}}).allowed());
  EXPECT_EQ(world.refund(id), true);
  EXPECT_TRUE(world.check({{"user", "big"}}, 10).allowed());
  world.config =
      config_of("policies: [ { id: q, key: [user], limit: 5, window: 60s, onStoreFailure: closed } ]");
  EXPECT_EQ(world.refund(id), false);
}

TEST(Refund, GivesNothingUnderALimitThatWasNotCharged) {
  World world(kTen);
  const std::string id = world.check({{"user", "a"}}, 4).refund_id;
  world.config = config_of(
      "policies: [ { id: p, key: [user], limit: 10, window: 1d, onStoreFailure: local } ]");  // a reload
  EXPECT_EQ(world.allowed(11, {{"user", "a"}}), 10);
  EXPECT_EQ(world.refund(id), false);
  EXPECT_EQ(world.allowed(11, {{"user", "a"}}), 0);
}

TEST(Refund, GivesNothingToABucketThatRefillsOtherwiseNow) {
  const auto bucket = [](const char* refill) {
    return "policies: [ { id: p, key: [user], capacity: 10, onStoreFailure: closed, " + std::string(refill) +
           " } ]";
  };
  World world(kTen);
  world.config = config_of(bucket("refillPerSecond: 10"));
  const std::string id = world.check({{"user", "a"}}, 4).refund_id;
  world.config = config_of(bucket("refillPerHour: 10"));
  EXPECT_EQ(world.refund(id), false);
}

TEST(Refund, IsOneThoughAReloadMakesTheLogLongerThanTheIdIsRemembered) {
  const auto log = [](const char* window) {
    return "policies: [ { id: p, key: [user], algorithm: sliding-log, limit: 10, onStoreFailure: closed, "
           "window: " +
           std::string(window) + " } ]";
  };
  World world(kTen);
  world.config = config_of(log("60s"));
  const std::string id = world.check({{"user", "a"}}, 4).refund_id;
  EXPECT_TRUE(world.check({{"user", "a"}}, 6).allowed());  // in the same microsecond
  EXPECT_EQ(world.refund(id), true);
  world.config = config_of(log("1h"));
  EXPECT_TRUE(world.check({{"user", "a"}}, 4).allowed());
  world.clock.advance(60s);
  EXPECT_EQ(world.refund(id), false);
  EXPECT_EQ(world.allowed(1, {{"user", "a"}}), 0);
}

TEST(Refund, OfALocalShareThereIsNone) {
  World world(kTen);
  world.shared.away = true;
  const Answer answer = world.check({{"user", "a"}});
  EXPECT_TRUE(answer.allowed());
  EXPECT_TRUE(answer.refund_id.empty());
}

TEST(Refund, WhileTheStoreIsAwayMayBeAskedAgain) {
  World world(kTen);
  const std::string id = world.check({{"user", "a"}}, 4).refund_id;
  world.shared.away = true;
  EXPECT_EQ(world.refund(id).error().code, ErrorCode::timed_out);
  world.shared.away = false;
  EXPECT_EQ(world.refund(id), true);
}

constexpr const char* kIdempotent = R"(
    - id: p
      key: [user]
      limit: 5
      window: 1h
      onStoreFailure: closed
      idempotency: { ttl: 10m, maxReplays: 3 }
    - { id: ip, key: [ip], limit: 100, window: 1h, onStoreFailure: closed }
)";

Request retry(const std::string& key, core::Units cost = 1) {
  return {.descriptor = {{"user", "a"}, {"ip", "1.2.3.4"}}, .cost = cost, .idempotency_key = key};
}

TEST(Idempotency, ARetryIsNotChargedToThePolicyThatAllowsIt) {
  World world(kIdempotent);
  EXPECT_FALSE(world.ask(retry("k1")).policies.at(0).replayed);
  const Answer again = world.ask(retry("k1"));
  EXPECT_TRUE(again.policies.at(1).replayed) << again.policies.at(1).plan.policy->id;
  EXPECT_EQ(world.peek({{"user", "a"}}, 0).deciding()->numbers()->remaining, 4);
  EXPECT_FALSE(world.ask(retry("k2")).policies.at(1).replayed);
  EXPECT_FALSE(world.ask(retry("k1", 2)).policies.at(1).replayed);  // a larger request is another one
}

TEST(Idempotency, ARetryOfWhatWasRefundedIsCharged) {
  World world(kIdempotent);
  for (const char* key : {"k1", "with a blank/and a slash"}) {
    const std::string id = world.ask(retry(key)).refund_id;
    EXPECT_EQ(world.refund(id), true);
    EXPECT_EQ(world.peek({{"user", "a"}}, 0).deciding()->numbers()->remaining, 5);
    const Answer again = world.ask(retry(key));
    EXPECT_FALSE(again.policies.at(1).replayed) << key;
    EXPECT_EQ(world.peek({{"user", "a"}}, 0).deciding()->numbers()->remaining, 4);
    EXPECT_TRUE(world.ask(retry(key)).policies.at(1).replayed) << key;
    EXPECT_EQ(world.refund(again.refund_id), true);
  }
}

TEST(Idempotency, OneConstantKeyGetsNoSecondBudget) {
  World world(kIdempotent);
  int allowed = 0;
  for (int i = 0; i < 1000; ++i) allowed += world.ask(retry("constant")).allowed() ? 1 : 0;
  EXPECT_EQ(allowed, 5 * (1 + 3));
}

TEST(Idempotency, ARefusalOfAnotherPolicyGivesTheReplayBackAndIsNotReplayed) {
  World world(R"(
    - { id: p, key: [user], limit: 5, window: 1h, onStoreFailure: closed, idempotency: { ttl: 10m, maxReplays: 1 } }
    - { id: ip, match: { ip: "*" }, key: [ip], limit: 1, window: 60s, onStoreFailure: closed }
)");
  EXPECT_TRUE(world.ask(retry("k")).allowed());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(world.ask(retry("k")).allowed());
  world.clock.advance(60s);
  const Answer after = world.ask(retry("k"));
  EXPECT_TRUE(after.allowed());
  EXPECT_EQ(world.peek({{"user", "a"}}, 0).deciding()->numbers()->remaining, 4);
}

TEST(Idempotency, IsForgottenAfterItsTime) {
  World world(kIdempotent);
  EXPECT_TRUE(world.ask(retry("k")).allowed());
  world.clock.advance(10min);
  EXPECT_TRUE(world.ask(retry("k")).allowed());
  EXPECT_EQ(world.peek({{"user", "a"}}, 0).deciding()->numbers()->remaining, 3);
}

TEST(Idempotency, AReloadToFewerLimitsForgetsWhatWasAllowedUnderMore) {
  World world(R"(
    - { id: p, key: [user], onStoreFailure: closed, idempotency: { ttl: 10m, maxReplays: 3 },
        limits: [ { limit: 9, window: 1h }, { limit: 5, window: 60s } ] }
)");
  EXPECT_TRUE(world.ask(retry("k")).allowed());
  world.config = config_of(
      "policies: [ { id: p, key: [user], limit: 9, window: 1h, onStoreFailure: closed,"
      " idempotency: { ttl: 10m, maxReplays: 3 } } ]");
  const Answer again = world.ask(retry("k"));
  ASSERT_TRUE(again.allowed());
  EXPECT_FALSE(again.policies.at(0).replayed);
  EXPECT_EQ(again.policies.at(0).outcomes.size(), 1u);
}

TEST(Idempotency, AReloadToALowerLimitForgetsWhatWasAllowedUnderTheHigher) {
  const auto policies = [](const char* limit) {
    return "policies: [ { id: p, key: [user], window: 1h, onStoreFailure: closed, limit: " +
           std::string(limit) + ", idempotency: { ttl: 10m, maxReplays: 3 } } ]";
  };
  World world(kIdempotent);
  world.config = config_of(policies("100"));
  EXPECT_TRUE(world.ask(retry("k")).allowed());
  world.config = config_of(policies("5"));
  const Answer again = world.ask(retry("k"));
  EXPECT_FALSE(again.policies.at(0).replayed);
  EXPECT_LE(again.policies.at(0).outcomes.at(0).remaining, 5);
}

TEST(Idempotency, WhatIsRememberedIsBounded) {
  Replays replays(2);
  for (const char* name : {"a", "b", "c"}) replays.remember(name, {}, 1, testing::kT0 + 1h);
  EXPECT_FALSE(replays.take("a", testing::kT0));
  EXPECT_TRUE(replays.take("b", testing::kT0));
  EXPECT_TRUE(replays.take("c", testing::kT0));
  EXPECT_FALSE(replays.take("c", testing::kT0));
}

TEST(Idempotency, AReplayThatComesBackAfterItsAllowIsGoneGivesTheNextAllowNoneMore) {
  World world(R"(
    - { id: p, key: [user], limit: 5, window: 1h, onStoreFailure: closed, idempotency: { ttl: 10m, maxReplays: 3 } }
    - { id: ip, match: { ip: "*" }, key: [ip], limit: 1, window: 24h, onStoreFailure: closed }
)",
              store::StoreAnswers::in_time);
  const auto from = [](const std::string& ip) {
    return Request{.descriptor = {{"user", "a"}, {"ip", ip}}, .idempotency_key = "k"};
  };
  const std::string id = world.ask(from("1.1.1.1")).refund_id;
  ASSERT_TRUE(world.check({{"ip", "2.2.2.2"}}).allowed());  // its last unit
  std::optional<Result<Answer>> late;
  world.shared.slow = true;
  world.checker.check(from("2.2.2.2"), [&](Result<Answer> answer) { late = std::move(answer); });
  world.shared.slow = false;
  ASSERT_EQ(world.shared.under_way.size(), 1u);
  ASSERT_EQ(world.refund(id), true);
  ASSERT_FALSE(world.ask(from("3.3.3.3")).policies.at(1).replayed) << "charged: another allow";
  world.shared.under_way.front()();
  ASSERT_FALSE(late.value().value().allowed());
  int replayed = 0;
  for (int i = 0; i < 4; ++i)
    replayed += world.ask(from("4.4.4." + std::to_string(i))).policies.at(1).replayed ? 1 : 0;
  EXPECT_EQ(replayed, 3);
}

}  // namespace
}  // namespace dripgate::check
