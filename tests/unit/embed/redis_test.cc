// The library on a real Redis, Sentinel and Cluster: what is shared, and where the options lead.
#define DRIPGATE_V1 v1  // the servers of the tests stand on rooms that have words of their own

#include <future>

#include <gtest/gtest.h>

#include "dripgate/limiter.h"
#include "dripgate/scheduler.h"
#include "dripgate/vendor.h"
#include "support/redis/redis_cluster.h"
#include "support/redis/redis_sentinels.h"
#include "support/redis/redis_server.h"

namespace {

using namespace dripgate::v1;
using Layout = RedisOptions::Layout;

constexpr auto kPatient = std::chrono::seconds{2};  // of a call: nothing here is about failing ones

Limiter limiter_on(const RedisOptions& options) {
  auto store = Store::redis(options);
  if (!store) throw std::runtime_error(store.error().detail);
  auto limiter = Limiter::open({.policies = {{.id = "shared",
                                              .key = {"user"},
                                              .limits = {Limit::sliding(3, std::chrono::hours{1})},
                                              .on_store_failure = FailureMode::closed}},
                                .store = *store});
  if (!limiter) throw std::runtime_error(limiter.error().detail);
  return *std::move(limiter);
}

/// Two processes' worth of limiters admit three together.
void expect_shared(const RedisOptions& options) {
  Limiter first = limiter_on(options);
  Limiter second = limiter_on(options);
  const Request request{.facts = {{"user", "a"}}};
  EXPECT_TRUE(first.check(request)->allowed());
  EXPECT_TRUE(second.check(request)->allowed());
  const auto third = first.check(request);
  EXPECT_TRUE(third->allowed());
  const auto refused = second.check(request);
  EXPECT_EQ(refused->outcome, Outcome::denied);
  EXPECT_FALSE(refused->degraded);
  EXPECT_TRUE(*first.refund(third->refund_id));
  EXPECT_TRUE(second.check(request)->allowed());
}

/// One refusal stops whoever shares the Redis.
void expect_frozen(const RedisOptions& options) {
  const auto open = [&] {
    return Vendor::open({.vendor = "crm",
                         .limits = {{.limit = Limit::bucket(100, 100, std::chrono::seconds{1})}},
                         .on_store_failure = FailureMode::closed,
                         .store = *Store::redis(options)});
  };
  auto first = open();
  auto second = open();
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(second->acquire({})->allowed);
  const auto told = first->observe({}, {.answer = {.status = 429, .headers = {{"Retry-After", "600"}}}});
  ASSERT_TRUE(told) << told.error().detail;
  const auto denied = second->acquire({});
  EXPECT_FALSE(denied->allowed);
  EXPECT_FALSE(denied->degraded);
  EXPECT_EQ(denied->frozen_until, told->frozen_until);
  EXPECT_EQ(second->inspect({})->in_flight, 1U);
}

/// Reservations belong to their ids, whoever asks.
void expect_booked(const RedisOptions& options) {
  const auto open = [&] {
    return Scheduler::open({.stream = "s",
                            .limits = {Limit::fixed(1, std::chrono::hours{24})},
                            .horizon = std::chrono::hours{96},
                            .store = *Store::redis(options)});
  };
  auto first = open();
  auto second = open();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->reserve({.event_id = "a", .key = "k"})->verdict, ReserveVerdict::now);
  const auto booked = second->reserve({.event_id = "b", .key = "k"});
  ASSERT_TRUE(booked);
  EXPECT_EQ(booked->verdict, ReserveVerdict::at);
  EXPECT_EQ(first->reserve({.event_id = "b", .key = "k"})->ticket, booked->ticket);
  EXPECT_EQ(second->inspect("k")->pending, 1);
  EXPECT_EQ(first->gate(booked->ticket)->verdict, GateVerdict::rebook);
}

TEST(LibraryOnRedis, SharesLimitsAndBookingsOnOneServerWithAPassword) {
  const dripgate::testing::RedisServer server({.password = "s3cret"});
  const RedisOptions options{
      .nodes = {server.address()}, .password = "s3cret", .timeout = kPatient, .key_prefix = "mine:"};
  expect_shared(options);
  expect_frozen(options);
  expect_booked(options);
  EXPECT_NE(server.ask({"KEYS", "mine:*"}), "");
}

TEST(LibraryOnRedis, SharesLimitsAndBookingsBehindSentinels) {
  dripgate::testing::RedisSentinels site(1, 1);
  const RedisOptions options{.layout = Layout::sentinel,
                             .nodes = {site.sentinel(0).address()},
                             .sentinel_master = dripgate::testing::RedisSentinels::kMaster,
                             .timeout = kPatient};
  expect_shared(options);
  expect_booked(options);
}

TEST(LibraryOnRedis, SharesLimitsAndBookingsOnACluster) {
  dripgate::testing::RedisCluster cluster(3);
  const RedisOptions options{
      .layout = Layout::cluster, .nodes = {cluster.node(0).address()}, .timeout = kPatient};
  expect_shared(options);
  expect_frozen(options);
  expect_booked(options);
}

TEST(LibraryOnRedis, AnswersWhatIsUnderWayWhenALimiterEnds) {
  dripgate::testing::RedisServer server;
  auto limiter = std::make_unique<Limiter>(limiter_on({.nodes = {server.address()}, .timeout = kPatient}));
  server.pause();
  std::promise<Result<Decision>> told;
  limiter->check({.facts = {{"user", "a"}}},
                 [&](Result<Decision> decision) { told.set_value(std::move(decision)); });
  limiter.reset();
  const auto decision = told.get_future().get();
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, ErrorCode::cancelled);
  server.resume();
}

}  // namespace
