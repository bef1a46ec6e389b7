// Decisions of the Checker on the memory store, on virtual time.
#include <gtest/gtest.h>

#include "unit/check/world.h"

namespace dripgate::check {
namespace {

TEST(Check, TwentyPassAtOnceAndTheTwentyFirstWaitsForItsToken) {
  World world(kOriginal);
  const core::Descriptor free{{"plan", "free"}, {"apiKey", "secret"}};
  EXPECT_EQ(world.allowed(20, free), 20);
  const Answer denied = world.check(free);
  EXPECT_EQ(denied.kind, Kind::denied);
  ASSERT_NE(denied.deciding(), nullptr);
  EXPECT_EQ(denied.deciding()->plan.policy->id, "api-free");
  EXPECT_EQ(denied.deciding()->numbers()->remaining, 0);
  EXPECT_EQ(denied.retry_after, Duration{600'000});  // 60 s / 100
  EXPECT_TRUE(denied.refund_id.empty());
  world.clock.advance(600'000us);
  EXPECT_TRUE(world.check(free).allowed());
  EXPECT_TRUE(world.check({{"plan", "free"}, {"apiKey", "other"}}).allowed());
  EXPECT_FALSE(world.check(free).allowed());
}

TEST(Check, ARequestWithoutAPolicyIsAllowedAndSaysSo) {
  World world(kOriginal);
  const Answer answer = world.check({{"plan", "gold"}});
  EXPECT_TRUE(answer.allowed());
  EXPECT_TRUE(answer.policies.empty());
  EXPECT_EQ(answer.deciding(), nullptr);
  EXPECT_EQ(world.shared.consumes, 0);
}

TEST(Check, ADenialOfOnePolicySpendsNothingOfTheOther) {
  World world(R"(
    - { id: narrow, key: [user], limit: 1, window: 60s, onStoreFailure: closed }
    - { id: wide, key: [ip], limit: 5, window: 60s, onStoreFailure: closed }
)");
  EXPECT_EQ(world.allowed(4, {{"user", "a"}, {"ip", "1.2.3.4"}}), 1);
  const Answer next = world.check({{"user", "b"}, {"ip", "1.2.3.4"}});
  EXPECT_TRUE(next.allowed());
  ASSERT_EQ(next.policies.size(), 2u);
  for (const PolicyAnswer& policy : next.policies) {
    EXPECT_EQ(policy.numbers()->remaining, policy.plan.policy->id == "wide" ? 3 : 0);
  }
  EXPECT_EQ(next.deciding()->plan.policy->id, "narrow");
}

/// What a caller sees.
std::string seen_of(const Answer& answer) {
  std::string seen = to_string(answer.kind);
  for (const PolicyAnswer& policy : answer.policies) {
    seen += ' ' + policy.plan.policy->id + (policy.verdict() == core::Verdict::allow ? "+" : "-");
    if (const core::LimitOutcome* numbers = policy.numbers())
      seen += std::to_string(numbers->remaining) + '/' + std::to_string(numbers->reset_after.count());
  }
  if (answer.deciding() != nullptr) seen += " by " + answer.deciding()->plan.policy->id;
  if (answer.retry_after) seen += " after " + std::to_string(answer.retry_after->count());
  return seen + (answer.refund_id.empty() ? "" : " refundable");
}

TEST(Check, IsDecidedAlikeWhetherOrNotTheStoreAnswersWithinTheCall) {
  const std::string policies = R"(
    - { id: narrow, key: [user], limit: 2, window: 60s, onStoreFailure: local }
    - { id: wide, key: [ip], limits: [ { rps: 3 }, { rpm: 5 } ], onStoreFailure: open }
    - { id: trial, key: [ip], limit: 1, window: 1s, shadow: true, onStoreFailure: closed }
)";
  World at_once(policies);
  World in_time(policies, store::StoreAnswers::in_time);
  int denied = 0;
  for (int i = 0; i < 400; ++i) {
    for (World* world : {&at_once, &in_time}) {
      world->shared.away = i / 50 % 4 == 3;
      world->clock.advance(i % 3 * 400ms);
    }
    const Request request{.descriptor = {{"user", "u" + std::to_string(i % 7)}, {"ip", "198.51.100.7"}},
                          .cost = i % 11 == 0 ? 3 : 1,
                          .peek = i % 5 == 0};
    const Answer answer = at_once.ask(request);
    denied += answer.allowed() ? 0 : 1;
    ASSERT_EQ(seen_of(answer), seen_of(in_time.ask(request))) << "request " << i;
  }
  EXPECT_GT(denied, 50);
}

TEST(Check, AShadowPolicyIsCountedAndNeverDenies) {
  World world(R"(
    - { id: trial, key: [user], limit: 1, window: 60s, shadow: true, onStoreFailure: closed }
    - { id: real, key: [user], limit: 3, window: 60s, onStoreFailure: closed }
)");
  EXPECT_EQ(world.allowed(5, {{"user", "a"}}), 3);
  const Answer first = world.check({{"user", "b"}});
  const Answer second = world.check({{"user", "b"}});
  EXPECT_TRUE(second.allowed());
  const auto trial = [](const Answer& answer) -> const PolicyAnswer& {
    return answer.policies.at(answer.policies[0].plan.policy->id == "trial" ? 0 : 1);
  };
  EXPECT_EQ(trial(first).verdict(), core::Verdict::allow);
  EXPECT_EQ(trial(second).verdict(), core::Verdict::deny);
  EXPECT_EQ(second.deciding()->plan.policy->id, "real");
  world.shared.away = true;
  EXPECT_EQ(world.check({{"user", "b"}}).kind, Kind::unavailable);  // the real one is closed
}

TEST(Check, AShadowPolicyDoesNotDenyWhileTheStoreIsAway) {
  World world(
      "    - { id: trial, key: [user], limit: 1, window: 60s, shadow: true, onStoreFailure: closed }");
  world.shared.away = true;
  EXPECT_TRUE(world.check({{"user", "a"}}).allowed());
}

TEST(Check, WhatIsWrongWithAShadowPolicyIsNoFaultOfTheRequest) {
  World world(R"(
    - { id: trial, key: [user], limit: 1, window: 60s, shadow: true, onStoreFailure: closed }
    - { id: real, key: [user], limit: 3, window: 60s, onStoreFailure: closed }
)");
  world.shared.refused = ":trial";
  EXPECT_EQ(world.allowed(5, {{"user", "a"}}), 3);
  world.shared.refused = ":real";
  const auto answer = world.try_check({.descriptor = {{"user", "a"}}});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::invalid_argument);
}

TEST(Check, TheOverrideOfAValueCountsAndUnlimitedAsksNothing) {
  World world(R"(
    - id: p
      key: [tenant]
      limit: 1
      window: 60s
      onStoreFailure: closed
      overrides: [ { value: big, limit: 3, window: 60s }, { value: free, unlimited: true } ]
)");
  EXPECT_EQ(world.allowed(5, {{"tenant", "small"}}), 1);
  EXPECT_EQ(world.allowed(5, {{"tenant", "big"}}), 3);
  const int asked = world.shared.consumes;
  const Answer answer = world.check({{"tenant", "free"}});
  EXPECT_EQ(world.shared.consumes, asked);
  EXPECT_TRUE(answer.allowed());
  EXPECT_EQ(answer.policies.at(0).plan.role, Role::unlimited);
  EXPECT_EQ(answer.deciding(), nullptr);
}

TEST(Check, AnOverrideNamesItsValueAsItIsAndNotAsAKeyEscapesIt) {
  World world(R"(
    - id: u
      match: { user: "*" }
      key: [ { name: user, trim: true, lower: true } ]
      limit: 9
      window: 60s
      onStoreFailure: closed
      overrides: [ { value: "big corp: eu", limit: 3, window: 60s }, { value: "bad:*", limit: 0, window: 60s } ]
    - id: i
      match: { ip: "*" }
      key: [ip]
      limit: 9
      window: 60s
      onStoreFailure: closed
      overrides: [ { value: "2001:db8:1:2::/64", limit: 2, window: 60s } ]
)");
  EXPECT_EQ(world.allowed(10, {{"user", " Big Corp: EU"}}), 3);
  EXPECT_EQ(world.allowed(10, {{"user", "bad:actor"}}), 0);
  EXPECT_EQ(world.allowed(10, {{"user", "bad"}}), 9);
  EXPECT_EQ(world.allowed(10, {{"ip", "2001:db8:1:2::77"}}), 2);
}

TEST(Check, AMissingKeyIsDeniedSharedOrSkippedAsThePolicySays) {
  World world(R"(
    - { id: strict, match: { a: "*" }, key: [tenant], limit: 5, window: 60s, onMissingKey: deny, onStoreFailure: closed }
    - { id: shared, match: { b: "*" }, key: [tenant], limit: 2, window: 60s, onStoreFailure: closed }
    - { id: lax, match: { c: "*" }, key: [tenant], limit: 1, window: 60s, onMissingKey: skip, onStoreFailure: closed }
)");
  const Answer strict = world.check({{"a", "1"}});
  EXPECT_EQ(strict.kind, Kind::missing_key);
  EXPECT_FALSE(strict.retry_after);
  EXPECT_EQ(strict.deciding()->plan.missing, std::vector<std::string>{"tenant"});
  EXPECT_EQ(world.shared.consumes, 0);
  EXPECT_EQ(world.allowed(5, {{"b", "1"}}), 2);
  EXPECT_EQ(world.allowed(5, {{"b", "1"}, {"tenant", "x"}}), 2);
  EXPECT_EQ(world.allowed(5, {{"c", "1"}}), 5);
  EXPECT_EQ(world.allowed(5, {{"c", "1"}, {"tenant", "x"}}), 1);
}

TEST(Check, ACostAboveTheCapacityIsImpossibleAndHasNoWait) {
  World world(kOriginal);
  const Answer answer = world.check({{"plan", "free"}, {"apiKey", "k"}}, 21);
  EXPECT_EQ(answer.kind, Kind::impossible);
  EXPECT_FALSE(answer.retry_after);
  EXPECT_EQ(world.check({{"plan", "free"}, {"apiKey", "k"}}, 20).kind, Kind::allowed);
  EXPECT_FALSE(world.try_check({.descriptor = {}, .cost = -1}));
}

TEST(Check, APeekTakesNothing) {
  World world(kOriginal);
  const core::Descriptor free{{"plan", "free"}, {"apiKey", "k"}};
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(world.peek(free).allowed());
  EXPECT_EQ(world.peek(free, 21).kind, Kind::impossible);
  EXPECT_EQ(world.allowed(30, free), 20);
  EXPECT_EQ(world.peek(free).kind, Kind::denied);
  EXPECT_EQ(world.seen.kinds.size(), 30u);
}

TEST(Check, AReloadTakesEffectWithTheNextRequest) {
  World world("    - { id: p, key: [user], limit: 2, window: 60s, onStoreFailure: closed }");
  EXPECT_EQ(world.allowed(3, {{"user", "a"}}), 2);
  world.config =
      config_of("policies: [ { id: p, key: [user], limit: 5, window: 60s, onStoreFailure: closed } ]");
  EXPECT_EQ(world.allowed(9, {{"user", "a"}}), 3);
}

TEST(Check, TheFailureModeOfEachPolicyDecidesWhileTheStoreIsAway) {
  World world(R"(
    - { id: local, match: { m: local }, key: [user], limit: 2, window: 60s, onStoreFailure: local }
    - { id: open, match: { m: open }, key: [user], limit: 2, window: 60s, onStoreFailure: open }
    - { id: closed, match: { m: closed }, key: [user], limit: 2, window: 60s, onStoreFailure: closed }
)");
  world.shared.away = true;
  world.local.set_instances(2);
  const auto facts = [](const char* mode) { return core::Descriptor{{"m", mode}, {"user", "a"}}; };
  EXPECT_EQ(world.allowed(9, facts("local")), 1);
  EXPECT_EQ(world.allowed(9, facts("open")), 9);
  EXPECT_EQ(world.allowed(9, facts("closed")), 0);
  const Answer closed = world.check(facts("closed"));
  EXPECT_EQ(closed.kind, Kind::unavailable);
  EXPECT_EQ(closed.degraded, core::FailureMode::closed);
  EXPECT_EQ(closed.retry_after, kStoreBackWait);
  const Answer open = world.check(facts("open"));
  EXPECT_EQ(open.degraded, core::FailureMode::open);
  EXPECT_EQ(open.deciding(), nullptr);  // it has no numbers
  const Answer local = world.check(facts("local"));
  EXPECT_EQ(local.degraded, core::FailureMode::local);
  EXPECT_EQ(local.kind, Kind::denied);
  EXPECT_GT(local.retry_after.value_or(Duration{0}), Duration{0});
}

TEST(Check, ADenialOverALocalShareThatCannotHoldTheCostWaitsForTheStore) {
  World world("    - { id: p, key: [user], limit: 4, window: 60s, onStoreFailure: local, localShare: 4 }");
  world.shared.away = true;
  const Answer answer = world.check({{"user", "a"}}, 2);
  EXPECT_EQ(answer.kind, Kind::denied);
  EXPECT_EQ(answer.retry_after, kStoreBackWait);
}

TEST(Check, KeyPartsThatLookAlikeAreCountedApart) {  // case D5
  World world("    - { id: p, key: [tenant, user], limit: 1, window: 60s, onStoreFailure: closed }");
  const std::vector<core::Descriptor> all{{{"tenant", "x:y"}, {"user", "z"}},
                                          {{"tenant", "x"}, {"user", "y:z"}},
                                          {{"tenant", "t"}, {"user", "a\nb"}},
                                          {{"tenant", "t"}, {"user", "a b"}},
                                          {{"tenant", "t"}, {"user", "a%20b"}},
                                          {{"tenant", "t"}, {"user", ""}},
                                          {{"tenant", "t"}}};
  for (const auto& descriptor : all) EXPECT_TRUE(world.check(descriptor).allowed());
  for (const auto& descriptor : all) EXPECT_FALSE(world.check(descriptor).allowed());
}

TEST(Check, ANameMayCountWithoutCaseAndWhiteSpace) {
  World world(R"(
    - { id: p, key: [ { name: username, trim: true, lower: true } ], limit: 1, window: 60s, onStoreFailure: closed }
)");
  EXPECT_TRUE(world.check({{"username", "Manoj"}}).allowed());
  EXPECT_FALSE(world.check({{"username", " manoj\t"}}).allowed());
  EXPECT_TRUE(world.check({{"username", "man oj"}}).allowed());
}

TEST(Check, ExplainShowsTheSecretsOfAMatchAsItShowsThoseOfAKey) {
  World world(R"(
    - { id: p, key: [apiKey], limit: 1, window: 1h, onStoreFailure: closed, match: { apiKey: "live_4242" } }
    - { id: any, key: [apiKey], limit: 1, window: 1h, onStoreFailure: closed, match: { apiKey: "*", plan: "free" } }
)");
  std::optional<Explanation> got;
  world.checker.explain({.descriptor = {{"plan", "paid"}}},
                        [&](Result<Explanation> explanation) { got = *std::move(explanation); });
  ASSERT_TRUE(got);
  ASSERT_EQ(got->others.size(), 2u);
  ASSERT_EQ(got->others[0].accepted.size(), 1u);
  EXPECT_EQ(got->others[0].accepted[0].size(), 16u);
  EXPECT_EQ(got->others[0].accepted[0].find("4242"), std::string::npos);
}

TEST(Check, ExplainSaysWhyAPolicyDoesNotMatchAndTakesNothing) {
  World world(kOriginal);
  std::optional<Explanation> got;
  world.checker.explain({.descriptor = {{"plan", "free"}, {"apiKey", "k"}, {"route", "GET /x"}}},
                        [&](Result<Explanation> explanation) { got = *std::move(explanation); });
  ASSERT_TRUE(got);
  ASSERT_EQ(got->answer.policies.size(), 1u);
  EXPECT_EQ(got->answer.policies[0].numbers()->remaining, 20 - 1);  // as if it were asked now
  ASSERT_EQ(got->others.size(), 1u);
  EXPECT_EQ(got->others[0].policy->id, "login");
  EXPECT_EQ(got->others[0].name, "route");
  EXPECT_EQ(got->others[0].accepted, std::vector<std::string>{"POST /auth/login"});
  EXPECT_EQ(world.shared.consumes, 0);
}

}  // namespace
}  // namespace dripgate::check
