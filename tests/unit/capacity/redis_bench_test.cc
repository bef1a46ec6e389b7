// A short bench on real servers: what it measures is there and fits together; nothing is left behind. No
// figure is judged: they are the machine's.
#include <gtest/gtest.h>

#include "capacity/accuracy.h"
#include "capacity/bench.h"
#include "capacity/connections.h"
#include "support/redis/redis_cluster.h"
#include "support/redis/redis_server.h"

namespace dripgate::capacity {
namespace {

BenchOptions small(redis::Options redis) {
  BenchOptions options;
  options.redis = std::move(redis);
  options.key_prefix = "p:";
  options.peak = 2000;
  options.step = 300ms;
  options.connections = 4;
  options.clients = 20;
  options.keys = 1000;
  return options;
}

redis::Options server_at(std::uint16_t port) {
  redis::Options options;
  options.nodes = {{.host = "127.0.0.1", .port = port}};
  return options;
}

redis::Options cluster_at(const testing::RedisServer& node) {
  redis::Options options = server_at(node.port());
  options.layout = redis::Options::Layout::cluster;
  return options;
}

void expect_whole(const BenchResult& result, std::size_t primaries) {
  EXPECT_EQ(result.primaries.size(), primaries);
  ASSERT_EQ(result.steps.size(), 3u);
  const int percents[]{25, 50, 100};
  for (std::size_t i = 0; i < 3; ++i) {
    const Step& step = result.steps[i];
    EXPECT_EQ(step.percent, percents[i]);
    EXPECT_DOUBLE_EQ(step.offered_per_second, 20.0 * percents[i]);
    // 300 ms of the rate: every call was sent, and was answered or failed.
    EXPECT_NEAR(static_cast<double>(step.answered + step.failed), 6.0 * percents[i], 2) << step.percent;
    EXPECT_LE(step.p50, step.p95);
    EXPECT_LE(step.p95, step.p99);
    EXPECT_EQ(step.shards.size(), primaries);
    EXPECT_GT(step.redis_us_per_call, 0);
  }
  EXPECT_EQ(result.saturation.percent, 0);
  EXPECT_GT(result.saturation.answered, 0u);
  for (const ShardStep& shard : result.saturation.shards) EXPECT_GT(shard.answered_per_second, 0);
  EXPECT_GT(result.bytes_per_key, 20) << "a key, its name and its expiry";
  ASSERT_TRUE(result.plan);
  EXPECT_GE(result.plan->shards, 1u);
}

TEST(RedisBench, MeasuresOneServerAndLeavesNothing) {
  testing::RedisServer server;
  net::IoLoop loop;
  const auto result = run_bench(loop, small(server_at(server.port())));
  ASSERT_TRUE(result) << result.error().detail;
  expect_whole(*result, 1);
  ASSERT_EQ(result->accuracy.size(), 3u);
  for (const Accuracy& one : result->accuracy) {
    EXPECT_EQ(one.asked, kAccuracyAsked);
    EXPECT_LE(one.admitted, one.limit);
    if (one.failed == 0) EXPECT_EQ(one.admitted, one.limit) << "as many as the limit, exactly";
  }
  EXPECT_FALSE(result->outage);
  EXPECT_EQ(result->keys_left, 0u);
  EXPECT_EQ(server.ask({"DBSIZE"}), "0");
}

TEST(RedisBench, KeysOfTheDeploymentStay) {
  testing::RedisServer server;
  ASSERT_EQ(server.ask({"SET", "p:rl:{t:1}:api:k:1", "theirs"}), "OK");
  net::IoLoop loop;
  ASSERT_TRUE(run_bench(loop, small(server_at(server.port()))));
  EXPECT_EQ(server.ask({"KEYS", "*"}), "p:rl:{t:1}:api:k:1");
}

TEST(RedisBench, SaysWhatKeepsItFromARedisThatIsAway) {
  net::IoLoop loop;
  const auto result = run_bench(loop, small(server_at(1)));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().detail.find("127.0.0.1:1"), std::string::npos) << result.error().detail;
}

TEST(RedisBench, NobodyWhoEndsAPrimaryIsNamedAndItsKeysAreGone) {
  testing::RedisServer server;
  net::IoLoop loop;
  BenchOptions options = small(server_at(server.port()));
  options.await_loss = 200ms;
  const auto result = run_bench(loop, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::timed_out);
  EXPECT_EQ(server.ask({"DBSIZE"}), "0");
}

// The other primaries go on where a cluster does not ask for full coverage; the killed one has no replica.
TEST(RedisBenchCluster, WithAPrimaryKilledItsKeysFailAndTheOthersAreServed) {
  testing::RedisCluster cluster(3, 0, {.lines = {"cluster-require-full-coverage no"}});
  net::IoLoop loop;
  BenchOptions options = small(cluster_at(cluster.node(0)));
  options.await_loss = std::chrono::seconds{30};
  options.progress = [&](std::string_view what) {
    if (what.starts_with("end one primary")) cluster.node(1).kill();
  };
  const auto result = run_bench(loop, options);
  ASSERT_TRUE(result) << result.error().detail;
  expect_whole(*result, 3);
  ASSERT_TRUE(result->outage);
  EXPECT_EQ(result->outage->node, cluster.node(1).address());
  EXPECT_FALSE(result->outage->back_after);
  ASSERT_EQ(result->outage->steps.size(), 3u);
  for (const Step& step : result->outage->steps) {
    ASSERT_EQ(step.shards.size(), 3u);
    EXPECT_EQ(
        std::ranges::count_if(step.shards, [](const ShardStep& s) { return s.answered_per_second > 0; }), 2);
    EXPECT_EQ(std::ranges::count_if(step.shards, [](const ShardStep& s) { return s.failed > 0; }), 1);
    EXPECT_FALSE(step.failure.empty());
  }
  EXPECT_GT(result->keys_left, 0u) << "those of the killed one";
  EXPECT_LT(result->keys_left, 1000u);
  for (const std::size_t node : {0u, 2u}) EXPECT_EQ(cluster.node(node).ask({"DBSIZE"}), "0");
}

TEST(RedisBenchCluster, AReplacedPrimaryIsFollowedAndTheGapIsTold) {
  testing::RedisCluster cluster(3, 1, {}, std::chrono::milliseconds{500});
  net::IoLoop loop;
  BenchOptions options = small(cluster_at(cluster.node(0)));
  options.step = std::chrono::seconds{3};
  options.peak = 200;
  options.await_loss = std::chrono::seconds{30};
  options.progress = [&](std::string_view what) {
    if (what.starts_with("end one primary")) cluster.node(1).kill();
  };
  const auto result = run_bench(loop, options);
  ASSERT_TRUE(result) << result.error().detail;
  ASSERT_TRUE(result->outage);
  ASSERT_TRUE(result->outage->back_after) << "never replaced";
  EXPECT_GT(*result->outage->back_after, 100ms) << "a replica is asked only after the node timeout";
  EXPECT_GT(result->outage->steps.front().failed, 0u);
  EXPECT_EQ(result->outage->steps.back().failed, 0u) << result->outage->steps.back().failure;
  EXPECT_EQ(result->keys_left, 0u);
}

}  // namespace
}  // namespace dripgate::capacity
