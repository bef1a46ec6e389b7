// The failover store before real servers that are killed, paused and slow. Figures are in bench/failover.cc;
// here only what holds on a busy machine too.
#include <functional>
#include <set>

#include "integration_redis/asker.h"
#include "integration_redis/failover_site.h"
#include "store/redis/instances.h"
#include "store/redis/server_check.h"
#include "support/redis/steered_clock.h"
#include "support/virtual_time.h"

namespace dripgate::testing {
namespace {

using core::FailureMode;
using core::Verdict;
using redis::testing::kUnhurried;
using store::GuardedCharge;
using State = core::Breaker::State;
using namespace std::chrono_literals;

constexpr Duration kDeadline = 50ms;

/// What befalls the first server, and how it ends.
struct Trouble {
  const char* name;
  void (*begin)(FailoverSite&);
  void (*end)(FailoverSite&);
};
void PrintTo(const Trouble& trouble, std::ostream* out) {
  *out << trouble.name;
}

class RedisFailover : public ::testing::TestWithParam<Trouble> {
 protected:
  core::Decision decide(const std::string& tag, FailureMode mode) {
    const auto decision = site.decide({site.charge(tag, mode)});
    EXPECT_TRUE(decision) << decision.error().detail;
    return decision.value_or(core::Decision{});
  }

  FailoverSite site{kDeadline};
};

TEST_P(RedisFailover, EveryModeAnswersAsItsPolicySaysNothingWaitsOnceOpenAndTheStoreComesBack) {
  ASSERT_TRUE(site.until([&] { return !decide("a", FailureMode::open).degraded(); }));
  ASSERT_TRUE(site.until([&] { return !decide("b", FailureMode::open).degraded(); }));
  GetParam().begin(site);
  ASSERT_TRUE(site.until([&] {
    decide("a", FailureMode::open);
    return site.breaker(0) != State::closed;
  }));

  int decided_by_b = 0;
  for (int i = 0; i < 200; ++i) {
    const auto open = site.answered_at_once({site.charge("a", FailureMode::open)});
    const auto closed = site.answered_at_once({site.charge("a", FailureMode::closed)});
    const auto local = site.answered_at_once({site.charge("a", FailureMode::local)});
    ASSERT_TRUE(open && closed && local) << "nothing waits while the breaker is open";
    EXPECT_EQ(open->verdict, Verdict::allow);
    EXPECT_FALSE(open->outcomes[0].has_numbers);
    EXPECT_TRUE(closed->unavailable());
    EXPECT_EQ(local->degraded(), FailureMode::local);
    EXPECT_EQ(local->verdict, i < FailoverSite::kLimit ? Verdict::allow : Verdict::deny) << i;
    decided_by_b += decide("b", FailureMode::open).degraded() ? 0 : 1;
  }
  EXPECT_EQ(site.breaker(1), State::closed) << "the other shard is not affected";
  EXPECT_GT(decided_by_b, 190);

  GetParam().end(site);
  const WallTime back = site.clock.now();
  EXPECT_TRUE(site.until([&] { return !decide("a", FailureMode::open).degraded(); }));
  EXPECT_LT(site.clock.now() - back, 10s);
}

INSTANTIATE_TEST_SUITE_P(
    Every, RedisFailover,
    ::testing::Values(Trouble{"Stopped", [](FailoverSite& site) { site.first.kill(); },
                              [](FailoverSite& site) { site.first.restart(); }},
                      Trouble{"Paused", [](FailoverSite& site) { site.first.pause(); },
                              [](FailoverSite& site) { site.first.resume(); }},
                      Trouble{"Slow", [](FailoverSite& site) { site.proxy.delay(4 * kDeadline / 1ms * 1ms); },
                              [](FailoverSite& site) { site.proxy.delay(0ms); }}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(RedisFailoverErrors, AFullOrDemotedServerIsAStoreFailureOfItsClass) {
  FailoverSite site(kUnhurried);
  const auto by = [&](FailureMode mode) { return site.decide({site.charge("a", mode)}); };
  ASSERT_TRUE(site.until([&] { return !by(FailureMode::open)->degraded(); }));
  const auto errors = [&](ErrorCode code) {
    return site.store->counters().store_errors.at(static_cast<std::size_t>(code)).load();
  };
  ASSERT_EQ(site.first.ask({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  EXPECT_TRUE(by(FailureMode::closed)->unavailable());
  EXPECT_EQ(errors(ErrorCode::full), 1u);
  ASSERT_EQ(site.first.ask({"CONFIG", "SET", "maxmemory", "0"}), "OK");
  EXPECT_FALSE(by(FailureMode::closed)->degraded()) << "one error opens nothing";
  ASSERT_EQ(site.first.ask({"REPLICAOF", "127.0.0.1", "1"}), "OK");
  EXPECT_EQ(by(FailureMode::open)->verdict, Verdict::allow);
  EXPECT_EQ(by(FailureMode::local)->degraded(), FailureMode::local);
  EXPECT_GE(errors(ErrorCode::unavailable), 2u);
}

TEST(RedisFailoverErrors, ACounterOfANewerVersionDegradesItsOwnRequestsAndNotTheShard) {
  FailoverSite site(kUnhurried);
  const auto by = [&](const std::string& tag, FailureMode mode) {
    return site.decide({site.charge(tag, mode)});
  };
  ASSERT_TRUE(site.until([&] { return !by("a", FailureMode::open)->degraded(); }));
  for (const auto mode : {FailureMode::closed, FailureMode::local})
    ASSERT_EQ(site.first.ask({"SET", site.charge("a", mode).charge.key, "2later"}), "OK");
  int by_share = 0;
  for (int i = 0; i < 2 * FailoverSite::kLimit; ++i) {
    EXPECT_TRUE(by("a", FailureMode::closed)->unavailable());
    by_share += by("a", FailureMode::local)->verdict == Verdict::allow ? 1 : 0;
    EXPECT_FALSE(by("a", FailureMode::open)->degraded()) << "another key of the same shard";
  }
  EXPECT_EQ(by_share, FailoverSite::kLimit) << "this process' share, as it is the only one";
  EXPECT_EQ(site.breaker(0), State::closed);
}

TEST(RedisFailoverErrors, WhatRedisRefusesOfAUserThatMayNotIsAStoreFailureNotABadRequest) {
  FailoverSite site(kUnhurried);
  const auto by = [&](FailureMode mode) { return site.decide({site.charge("a", mode)}); };
  ASSERT_TRUE(site.until([&] { return !by(FailureMode::open)->degraded(); }));
  ASSERT_EQ(site.first.ask({"ACL", "SETUSER", "default", "resetkeys", "~other:*"}), "OK");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(by(FailureMode::open)->degraded(), FailureMode::open);
    EXPECT_TRUE(by(FailureMode::closed)->unavailable());
    EXPECT_EQ(by(FailureMode::local)->degraded(), FailureMode::local);
  }
  ASSERT_EQ(site.first.ask({"ACL", "SETUSER", "default", "allkeys"}), "OK");
  EXPECT_TRUE(site.until([&] { return !by(FailureMode::closed)->degraded(); }));
}

TEST(RedisFailoverErrors, ALateReplyIsNobodysAndNoCallIsSentAgain) {  // C3
  constexpr int kCalls = 20;
  FailoverSite site(20ms);
  GuardedCharge asked = site.charge("a", FailureMode::closed);
  ASSERT_TRUE(site.until([&] { return !site.decide({asked})->degraded(); }));
  ASSERT_TRUE(site.until([&] { return site.left(asked) >= 0; }));
  const core::Units before = site.left(asked);
  site.proxy.delay(200ms);
  int unavailable = 0, answered = 0;
  for (int i = 0; i < kCalls; ++i)
    site.store->consume({asked}, [&](const Result<core::Decision>& decision) {
      ++answered;
      unavailable += decision && decision->unavailable() ? 1 : 0;
    });
  ASSERT_TRUE(site.until([&] { return answered == kCalls; }));
  EXPECT_EQ(unavailable, kCalls) << "answered by the mode, none by a reply to another";
  site.proxy.delay(0ms);
  ASSERT_TRUE(site.until([&] { return !site.decide({site.charge("a", FailureMode::open)})->degraded(); }));
  ASSERT_TRUE(site.until([&] { return site.left(asked) >= 0; }));
  EXPECT_EQ(site.left(asked), before - kCalls) << "each counted once, never sent again";
}

TEST(RedisFailoverRefund, ARefusalOnOneServerGivesBackWhatTheOtherTook) {
  FailoverSite site(kUnhurried);
  GuardedCharge taken = site.charge("a", FailureMode::closed);
  GuardedCharge never = site.charge("b", FailureMode::closed);
  never.charge.limit.limit = never.charge.limit.capacity = 0;
  ASSERT_TRUE(site.until([&] { return !site.decide({taken})->degraded(); }));
  const core::Units before = site.decide({taken})->outcomes[0].remaining;
  for (int i = 0; i < 5; ++i) {
    const auto refused = site.decide({taken, never});
    EXPECT_EQ(refused->verdict, Verdict::deny);
    EXPECT_EQ(refused->decisive, 1u);
  }
  EXPECT_TRUE(site.until([&] { return site.left(taken) == before; })) << "all five came back";
}

TEST(RedisInstances, EveryProcessCountsAllOthersAndOneThatLeavesIsGoneAtOnce) {
  RedisServer redis;
  redis::testing::Asker asker({.nodes = {redis::testing::local(redis.port())}, .timeout = kUnhurried});
  ASSERT_TRUE(asker.works({"PING"}));
  std::array<int, 3> counts{};
  std::vector<std::unique_ptr<store::Instances>> processes;
  for (std::size_t i = 0; i < 3; ++i) {
    processes.push_back(std::make_unique<store::Instances>(
        *asker.client, asker.loop, "p:", [&counts, i](int count) { counts[i] = count; }));
    processes.back()->start();
  }
  EXPECT_TRUE(asker.until([&] { return counts == std::array{3, 3, 3}; }));
  bool left = false;
  processes[2]->stop([&] { left = true; });
  ASSERT_TRUE(asker.until([&] { return left; }));
  EXPECT_EQ(redis.ask({"ZCARD", "p:rl:instances"}), "2");
  EXPECT_TRUE(asker.until([&] { return counts[0] == 2 && counts[1] == 2; }));
  EXPECT_EQ(counts[2], 3) << "it has left";
  EXPECT_GT(std::stoi(redis.ask({"PTTL", "p:rl:instances"})), 0);
}

TEST(RedisInstances, OneThatDiesStopsCountingByRedisClockAndAClockThatStepsBackForgetsNobody) {
  SteeredClock clock;
  clock.set(kT0);
  RedisServer redis({.clock = &clock});
  redis::testing::Asker asker({.nodes = {redis::testing::local(redis.port())}, .timeout = kUnhurried});
  ASSERT_TRUE(asker.works({"PING"}));
  int count = 0, heard = 0;
  store::Instances lives(*asker.client, asker.loop, "", [&](int n) { count = n, ++heard; });
  const auto next_count = [&] {
    const int before = heard;
    EXPECT_TRUE(asker.until([&] { return heard >= before + 2; })) << "the first may be of before";
    return count;
  };
  int other = 0;
  auto dies = std::make_unique<store::Instances>(*asker.client, asker.loop, "", [&](int n) { other = n; });
  lives.start();
  dies->start();
  EXPECT_TRUE(asker.until([&] { return count == 2 && other == 2; }));
  clock.advance(-1h);
  EXPECT_EQ(next_count(), 2) << "all are counted again with their next heartbeat";
  dies.reset();
  clock.advance(store::kHeartbeatLives - 1ms);
  EXPECT_EQ(next_count(), 2);
  clock.advance(1ms);
  EXPECT_EQ(next_count(), 1) << "the other has not been heard of for 5 s";
}

TEST(RedisServerCheck, NamesWhatIsWrongWithARealServer) {
  SteeredClock clock;
  const SteadyClock host;
  RedisServer redis({.lines = {"maxmemory 100mb", "maxmemory-policy allkeys-lru"}, .clock = &clock});
  redis::testing::Asker asker({.nodes = {redis::testing::local(redis.port())}, .timeout = kUnhurried});
  ASSERT_TRUE(asker.works({"PING"}));
  const auto check = [&] {
    std::optional<std::vector<store::ServerWarning>> found;
    store::check_servers(*asker.client, host, [&](auto warnings) { found = std::move(warnings); });
    EXPECT_TRUE(asker.until([&] { return found.has_value(); }));
    return found.value_or(std::vector<store::ServerWarning>{});
  };
  auto warnings = check();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].node, redis.address());
  EXPECT_NE(warnings[0].text.find("allkeys-lru"), std::string::npos);
  ASSERT_EQ(redis.ask({"CONFIG", "SET", "maxmemory-policy", "noeviction"}), "OK");
  EXPECT_TRUE(check().empty());
  clock.set(host.now() + 1h);
  warnings = check();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].text.find("ahead of this host's"), std::string::npos) << warnings[0].text;
}

}  // namespace
}  // namespace dripgate::testing
