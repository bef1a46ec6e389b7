// Real Sentinels: the primary is found, verified, and found again after a failover.
#include <gtest/gtest.h>

#include "integration_redis/asker.h"
#include "support/redis/redis_sentinels.h"

namespace dripgate::redis::testing {
namespace {

using dripgate::testing::RedisSentinels;
using dripgate::testing::RedisServer;

Options at(RedisSentinels& site, Duration timeout = kUnhurried) {
  Options options{
      .layout = Options::Layout::sentinel, .sentinel_master = RedisSentinels::kMaster, .timeout = timeout};
  for (std::size_t i = 0; i < site.sentinels(); ++i) options.nodes.push_back(local(site.sentinel(i).port()));
  return options;
}

struct RedisSentinelTest : ::testing::Test {
  static void SetUpTestSuite() { site = std::make_unique<RedisSentinels>(); }
  static void TearDownTestSuite() { site.reset(); }
  static std::unique_ptr<RedisSentinels> site;
};
std::unique_ptr<RedisSentinels> RedisSentinelTest::site;

TEST_F(RedisSentinelTest, ThePrimaryIsTheOneThatTheSentinelsName) {
  Asker asker(at(*site));
  ASSERT_EQ(shown(asker.ask({"SET", "k", "v"})), "OK");
  const auto replies = asker.each({"PING"});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].node, site->node(0).address());
}

TEST_F(RedisSentinelTest, ASentinelThatIsGoneOrKnowsNothingIsPassedOver) {
  RedisServer gone;
  gone.kill();
  RedisServer ignorant({.sentinel = true});
  Options options = at(*site);
  options.nodes.insert(options.nodes.begin(), {local(gone.port()), local(ignorant.port())});
  Asker asker(options);
  EXPECT_TRUE(asker.works({"SET", "k", "v"}));
}

TEST_F(RedisSentinelTest, APrimaryThatIsNoneIsNotUsed) {
  // A Sentinel that names a replica, as one does that has missed a failover.
  const std::string replica = std::to_string(site->node(1).port());
  RedisServer misled({.sentinel = true});
  ASSERT_EQ(misled.ask({"SENTINEL", "MONITOR", RedisSentinels::kMaster, "127.0.0.1", replica, "9"}), "OK");
  Options options = at(*site);
  options.nodes = {local(misled.port())};
  Asker asker(options);
  const auto refused = asker.ask({"SET", "k", "v"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_NE(refused.error().detail.find("its role is not master"), std::string::npos)
      << refused.error().detail;
}

TEST_F(RedisSentinelTest, AMasterThatNobodyKnowsIsUnavailableByName) {
  Options options = at(*site);
  options.sentinel_master = "other";
  Asker asker(options);
  const auto refused = asker.ask({"PING"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("no Sentinel names the primary 'other'"), std::string::npos)
      << refused.error().detail;
  options.sentinel_master = "";
  net::IoLoop loop;
  EXPECT_EQ(make_client(loop, options).error().code, ErrorCode::invalid_argument);
}

TEST(RedisSentinelFailover, AKilledPrimaryIsReplacedAndCallsReachTheNewOne) {
  RedisSentinels site;
  Asker asker(at(site, 100ms));
  ASSERT_TRUE(asker.works({"SET", "k", "kept"}));
  ASSERT_EQ(shown(asker.ask({"WAIT", "1", "5000"}, "k", kUnhurried)), "1");
  site.node(0).kill();
  EXPECT_FALSE(asker.ask({"SET", "k", "lost"}));
  ASSERT_TRUE(asker.until([&] { return asker.ask({"SET", "other", "v"}).has_value(); })) << "never replaced";
  EXPECT_EQ(site.primary_port(), std::to_string(site.node(1).port()));
  EXPECT_EQ(shown(asker.ask({"GET", "k"}, "k", kUnhurried)), "kept");
}

TEST(RedisSentinelFailover, ASwitchIsFollowedThoughTheOldPrimaryStillAnswers) {
  RedisSentinels site;
  Asker asker(at(site));
  ASSERT_TRUE(asker.works({"SET", "k", "v"}));
  ASSERT_EQ(site.sentinel(0).ask({"SENTINEL", "FAILOVER", RedisSentinels::kMaster}), "OK");
  ASSERT_TRUE(asker.until([&] {
    const auto replies = asker.each({"PING"});
    return replies.size() == 1 && replies[0].reply && replies[0].node == site.node(1).address();
  })) << "still at the old one";
  EXPECT_TRUE(asker.works({"SET", "k", "v"}));
}

TEST(RedisSentinelFailover, ASwitchIsHeardOfThoughNothingIsAskedAndTheOldPrimaryHangs) {
  RedisSentinels site;
  Asker asker(at(site));
  ASSERT_TRUE(asker.works({"SET", "k", "v"}));
  const auto is_at = [&](std::size_t node) {
    return site.node(node).ask({"CLIENT", "LIST"}).find("name=dripgate") != std::string::npos;
  };
  ASSERT_TRUE(is_at(0));
  site.node(0).pause();
  EXPECT_TRUE(asker.until([&] { return is_at(1); })) << "no word of the switch";
  EXPECT_EQ(shown(asker.ask({"SET", "k", "v"})), "OK");
  site.node(0).resume();
}

}  // namespace
}  // namespace dripgate::redis::testing
