// The drip on Redis end to end: bookings, topics, timer and dead letters in real servers, in real time.
#include "integration_redis/drip_fixture.h"
#include "support/redis/redis_cluster.h"

namespace dripgate::testing {
namespace {

TEST_F(RedisDripEndToEnd, FiveHundredEventsUnderALimitArriveOnceEachAndNoWindowIsExceeded) {
  RedisServer redis({.lines = {"appendonly yes", "appendfsync always"}});
  auto one = worker(redis_at(redis.port()), "one");
  auto two = worker(redis_at(redis.port()), "two");
  publish(*one);
  expect_all([&](const std::string& word, const std::string& key) { return redis.ask({word, key}); });
  int released = 0;
  for (const auto& [window, count] : by_second_) released += count;
  EXPECT_EQ(released, kEvents);
  for (const auto& [id, times] : arrived_) EXPECT_EQ(times, 1) << id;
}

TEST_F(RedisDripEndToEnd, ARedisThatIsKilledAndComesBackWithItsFileLosesNothing) {
  RedisServer redis({.lines = {"appendonly yes", "appendfsync always"}});
  auto one = worker(redis_at(redis.port()), "one");
  publish(*one);
  ASSERT_TRUE(until([&] { return arrived_.size() > kEvents / 4; }));
  redis.kill();
  loop_.run_for(200ms);
  redis.restart();
  expect_all([&](const std::string& word, const std::string& key) { return redis.ask({word, key}); });
}

TEST_F(RedisDripEndToEnd, AWorkerThatComesBackUnderItsNameGoesOnAtOnce) {
  RedisServer redis({.lines = {"appendonly yes", "appendfsync always"}});
  auto one = worker(redis_at(redis.port()), "one");
  publish(*one);
  ASSERT_TRUE(until([&] { return arrived_.size() > kEvents / 4; }));
  one.reset();  // what it had stays pending under its name, and leased in the timer
  one = worker(redis_at(redis.port()), "one");
  EXPECT_TRUE(until([&] { return count(redis, "XLEN", &rs::stream_key, "in") == 0; }));
  // Fired before and not settled: such an entry comes after its lease. Everything is somewhere.
  EXPECT_GE(arrived_.size() + count(redis, "XLEN", &rs::stream_key, "over") +
                count(redis, "ZCARD", &rs::due_key, "s"),
            std::size_t{kEvents});
  expect_windows();
}

TEST_F(RedisDripEndToEnd, OnAClusterThePartitionsLieOnAllPrimaries) {
  RedisCluster cluster(3);
  const redis::Options at{.layout = redis::Options::Layout::cluster,
                          .nodes = {{.host = "127.0.0.1", .port = cluster.node(0).port()}}};
  const auto ask = [&](const std::string& word, const std::string& key) {
    std::string said;
    for (std::size_t i = 0; i < cluster.primaries() && (i == 0 || said.starts_with("-MOVED")); ++i)
      said = cluster.node(i).ask({word, key});
    return said;
  };
  auto one = worker(at, "one");
  publish(*one);
  std::set<std::size_t> shards;
  for (std::size_t i = 0; i < kPartitions; ++i)
    shards.insert(one->client().shard(rs::stream_key("", rs::partition_tag("in", i))));
  EXPECT_GT(shards.size(), 1u);
  expect_all(ask);
  for (const auto& [id, times] : arrived_) EXPECT_EQ(times, 1) << id;
}

}  // namespace
}  // namespace dripgate::testing
