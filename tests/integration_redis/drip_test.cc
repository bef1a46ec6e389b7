// The drip on Redis end to end: bookings, topics, timer and dead letters in real servers, in real time.
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "broker/redis_streams/keys.h"
#include "support/redis/redis_cluster.h"
#include "support/redis_drip.h"

namespace dripgate::testing {
namespace {

namespace rs = broker::redis_streams;

constexpr core::Units kLimit = 100;
constexpr Duration kPatience = 180s;  // beyond the leases of what a kill left fired or released
constexpr int kEvents = 500;
constexpr std::size_t kPartitions = 4;

/// Workers on one loop, what they delivered and what they released.
class RedisDripEndToEnd : public ::testing::Test, public drip::Observer {
 protected:
  void on_release(const core::Stream&, std::string_view, std::string_view, WallTime released,
                  Duration) override {
    ++by_second_[std::chrono::floor<std::chrono::seconds>(released).time_since_epoch().count()];
  }
  void on_dead_letter(const core::Stream&, std::string_view, std::string_view reason) override {
    ADD_FAILURE() << "a dead letter: " << reason;
  }

  std::unique_ptr<RedisDrip> worker(const redis::Options& redis, const std::string& name) {
    return std::make_unique<RedisDrip>(
        loop_,
        RedisDripOptions{.redis = redis,
                         .consumer = name,
                         .partitions = kPartitions,
                         .stream = redis_drip_stream(kLimit, 1s),
                         .on_delivery =
                             [this](const broker::Outgoing& outgoing) {
                               ++arrived_[*broker::find(outgoing.message.attributes, "dripgate-id")];
                             }},
        *this);
  }
  void publish(RedisDrip& through) {
    int published = 0;
    for (int i = 0; i < kEvents; ++i) {
      const std::string id = "e" + std::to_string(i);
      through.ingest().publish({.id = id,
                                .body = R"({"id":")" + id + R"(","key":"k","amount":2500.00})",
                                .attributes = {},
                                .published = {}},
                               [&](Result<void> done) { published += done.has_value() ? 1 : 0; });
    }
    ASSERT_TRUE(until([&] { return published == kEvents; })) << published;
  }
  template <class Holds>
  bool until(Holds holds) {
    for (Duration waited{0}; waited < kPatience && !holds(); waited += 10ms) loop_.run_for(10ms);
    return holds();
  }
  /// All arrived, the windows held, and nothing is left in any topic or timer. `ask` finds the key's node.
  void expect_all(const std::function<std::string(const std::string&, const std::string&)>& ask) {
    ASSERT_TRUE(until([&] { return arrived_.size() == kEvents; })) << arrived_.size();
    const auto empty = [&] {
      for (std::size_t i = 0; i < kPartitions; ++i) {
        if (ask("XLEN", rs::stream_key("", rs::partition_tag("in", i))) != "0") return false;
        if (ask("XLEN", rs::stream_key("", rs::partition_tag("over", i))) != "0") return false;
        if (ask("ZCARD", rs::due_key("", rs::partition_tag("s", i))) != "0") return false;
        if (ask("HLEN", rs::payload_key("", rs::partition_tag("s", i))) != "0") return false;
      }
      return true;
    };
    EXPECT_TRUE(until(empty)) << "something is left pending";
    for (const auto& [second, count] : by_second_) EXPECT_LE(count, kLimit) << second;
  }

  net::IoLoop loop_;
  std::map<std::string, int> arrived_;
  std::map<std::int64_t, int> by_second_;
};

TEST_F(RedisDripEndToEnd, FiveHundredEventsUnderALimitArriveOnceEachAndNoWindowIsExceeded) {
  RedisServer redis({.lines = {"appendonly yes", "appendfsync always"}});
  auto one = worker(redis_at(redis.port()), "one");
  auto two = worker(redis_at(redis.port()), "two");
  publish(*one);
  expect_all([&](const std::string& word, const std::string& key) { return redis.ask({word, key}); });
  int released = 0;
  for (const auto& [second, count] : by_second_) released += count;
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
  const auto left = [&](const char* word, std::string (*key)(std::string_view, std::string_view),
                        const char* of) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < kPartitions; ++i)
      count += std::stoul(redis.ask({word, key("", rs::partition_tag(of, i))}));
    return count;
  };
  EXPECT_TRUE(until([&] { return left("XLEN", &rs::stream_key, "in") == 0; }));
  // Fired before and not settled: such an entry comes after its lease. Everything is somewhere.
  EXPECT_GE(arrived_.size() + left("XLEN", &rs::stream_key, "over") + left("ZCARD", &rs::due_key, "s"),
            std::size_t{kEvents});
  for (const auto& [second, count] : by_second_) EXPECT_LE(count, kLimit) << second;
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
