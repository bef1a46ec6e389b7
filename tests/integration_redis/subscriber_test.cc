// Pub/sub on a connection of its own: one server, a cluster, Sentinels; a server that comes back.
#include "redis/subscriber.h"

#include <gtest/gtest.h>

#include "integration_redis/asker.h"
#include "support/redis/redis_cluster.h"
#include "support/redis/redis_sentinels.h"

namespace dripgate::redis::testing {
namespace {

using dripgate::testing::RedisCluster;
using dripgate::testing::RedisSentinels;
using dripgate::testing::RedisServer;

struct RedisSubscriber : ::testing::Test {
  net::IoLoop loop;
  int listening = 0;
  std::vector<std::string> heard, refused;
  std::unique_ptr<Subscriber> subscriber;

  ~RedisSubscriber() override {
    subscriber.reset();
    loop.run_for(1ms);
  }
  void listen(Options options, std::vector<std::string> channels = {"config"}) {
    auto made = subscribe(loop, std::move(options), std::move(channels),
                          {.on_message =
                               [this](std::string_view channel, std::string_view message) {
                                 heard.push_back(std::string(channel) + ": " + std::string(message));
                               },
                           .on_listening = [this] { ++listening; },
                           .on_refused = [this](const Error& error) { refused.push_back(error.detail); }});
    ASSERT_TRUE(made) << made.error().detail;
    subscriber = std::move(*made);
  }
  bool until(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + kTestPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop.run_for(1ms);
    }
    return true;
  }
};

TEST_F(RedisSubscriber, AUserWithoutTheChannelIsToldSoAndDoesNotComeAgainAtOnce) {
  RedisServer redis;
  ASSERT_EQ(redis.ask({"ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all", "resetchannels"}), "OK");
  listen({.nodes = {local(redis.port())}, .user = "app", .password = "pw"});
  ASSERT_TRUE(until([&] { return !refused.empty(); }));
  EXPECT_NE(refused[0].find("NOPERM"), std::string::npos) << refused[0];
  EXPECT_NE(refused[0].find(redis.address()), std::string::npos) << refused[0];
  // Twice the longest wait after an ordinary failure.
  loop.run_for(2 * kReconnectMax);
  EXPECT_EQ(refused.size(), 1u);
  EXPECT_EQ(listening, 0);
}

TEST_F(RedisSubscriber, MessagesOfItsChannelsArriveInOrder) {
  RedisServer redis({.password = "pw"});
  listen({.nodes = {local(redis.port())}, .password = "pw"}, {"config", "frozen"});
  ASSERT_TRUE(until([&] { return listening == 1; }));
  EXPECT_EQ(redis.ask({"PUBLISH", "config", "1"}), "1");
  EXPECT_EQ(redis.ask({"PUBLISH", "other", "x"}), "0");
  const std::string big(100'000, 'x');
  ASSERT_TRUE(until([&] { return heard.size() == 1; }));
  EXPECT_EQ(redis.ask({"PUBLISH", "frozen", big}), "1");
  ASSERT_TRUE(until([&] { return heard.size() == 2; }));
  EXPECT_EQ(heard, (std::vector<std::string>{"config: 1", "frozen: " + big}));
  EXPECT_EQ(listening, 1);
}

TEST_F(RedisSubscriber, AServerThatComesBackIsListenedToAgainAndSaysSo) {
  RedisServer redis;
  listen({.nodes = {local(redis.port())}});
  ASSERT_TRUE(until([&] { return listening == 1; }));
  redis.kill();
  redis.restart();
  ASSERT_TRUE(until([&] { return listening == 2; }));
  EXPECT_EQ(redis.ask({"PUBLISH", "config", "again"}), "1");
  EXPECT_TRUE(until([&] { return heard.size() == 1; }));
}

TEST_F(RedisSubscriber, AfterItsEndNothingIsHeard) {
  RedisServer redis;
  listen({.nodes = {local(redis.port())}});
  ASSERT_TRUE(until([&] { return listening == 1; }));
  EXPECT_EQ(redis.ask({"PUBLISH", "config", "unread"}), "1");
  subscriber.reset();
  ASSERT_TRUE(until([&] { return redis.ask({"PUBLISH", "config", "gone"}) == "0"; }));
  EXPECT_TRUE(heard.empty());
}

TEST_F(RedisSubscriber, InAClusterAnyNodeHearsWhatAnotherWasTold) {
  RedisCluster cluster(3);
  RedisServer gone;
  gone.kill();
  listen({.layout = Options::Layout::cluster, .nodes = {local(gone.port()), local(cluster.node(0).port())}});
  ASSERT_TRUE(until([&] { return listening == 1; }));
  cluster.node(1).ask({"PUBLISH", "config", "from another"});
  EXPECT_TRUE(until([&] { return !heard.empty(); }));
}

TEST_F(RedisSubscriber, WithSentinelsThePrimaryIsListenedTo) {
  RedisSentinels site;
  listen({.layout = Options::Layout::sentinel,
          .nodes = {local(site.sentinel(0).port())},
          .sentinel_master = RedisSentinels::kMaster});
  ASSERT_TRUE(until([&] { return listening == 1; }));
  EXPECT_EQ(site.node(0).ask({"PUBLISH", "config", "x"}), "1");
  EXPECT_TRUE(until([&] { return heard.size() == 1; }));
  EXPECT_EQ(subscribe(loop, {.nodes = {local(1)}}, {}, {}).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace dripgate::redis::testing
