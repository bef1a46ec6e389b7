// A real cluster: every key to its owner, slots that move, primaries that die.
#include <algorithm>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "integration_redis/asker.h"
#include "redis/slots.h"
#include "support/redis/redis_cluster.h"

namespace dripgate::redis::testing {
namespace {

using dripgate::testing::RedisCluster;
using dripgate::testing::RedisServer;

Options at(RedisCluster& cluster, Duration timeout = kUnhurried) {
  return {.layout = Options::Layout::cluster,
          .nodes = {local(cluster.node(cluster.size() - 1).port())},
          .timeout = timeout};
}

/// A key in the slot range of that primary.
std::string key_of(const RedisCluster& cluster, std::size_t primary) {
  for (int i = 0;; ++i) {
    std::string key = "{" + std::to_string(i) + "}:k";
    if (cluster.first_owner(slot_of(key)) == primary) return key;
  }
}

std::string key_in(std::size_t slot) {
  for (int i = 0;; ++i) {
    std::string key = "{" + std::to_string(i) + "}:k";
    if (slot_of(key) == slot) return key;
  }
}

// One cluster for all tests that leave it as it was: forming one takes seconds.
struct RedisClusterTest : ::testing::Test {
  static void SetUpTestSuite() { cluster = std::make_unique<RedisCluster>(3); }
  static void TearDownTestSuite() { cluster.reset(); }
  static std::unique_ptr<RedisCluster> cluster;

  /// Moves one slot step by step: begin, (keys), end.
  static void begin_move(std::size_t slot, std::size_t from, std::size_t to) {
    const std::string number = std::to_string(slot);
    ASSERT_EQ(cluster->node(to).ask({"CLUSTER", "SETSLOT", number, "IMPORTING", cluster->id_of(from)}), "OK");
    ASSERT_EQ(cluster->node(from).ask({"CLUSTER", "SETSLOT", number, "MIGRATING", cluster->id_of(to)}), "OK");
  }
  static void move_key(const std::string& key, std::size_t from, std::size_t to) {
    ASSERT_EQ(cluster->node(from).ask(
                  {"MIGRATE", "127.0.0.1", std::to_string(cluster->node(to).port()), key, "0", "5000"}),
              "OK");
  }
  /// What is left of the slot's keys goes too; then everybody knows the new owner.
  static void end_move(std::size_t slot, std::size_t from, std::size_t to) {
    const std::string number = std::to_string(slot);
    const std::string rest = cluster->node(from).ask({"CLUSTER", "GETKEYSINSLOT", number, "100"});
    std::istringstream keys(rest);
    for (std::string key; std::getline(keys, key);) move_key(key, from, to);
    for (const std::size_t node : {to, from})
      ASSERT_EQ(cluster->node(node).ask({"CLUSTER", "SETSLOT", number, "NODE", cluster->id_of(to)}), "OK");
    const std::string moved = "-MOVED " + number + " " + cluster->node(to).address();
    const std::string key = key_in(slot);
    ASSERT_TRUE(dripgate::testing::eventually([&] {
      for (std::size_t i = 0; i < 3; ++i) {
        if (i != to && cluster->node(i).ask({"GET", key}) != moved) return false;
      }
      return true;
    }));
  }
};
std::unique_ptr<RedisCluster> RedisClusterTest::cluster;

TEST_F(RedisClusterTest, KeysGoToTheirOwnersWithoutARedirectOnceTheMapIsKnown) {
  Asker asker(at(*cluster));
  ASSERT_EQ(asker.each({"PING"}).size(), 3u);
  EXPECT_EQ(asker.client->shards(), 3u);
  for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(cluster->node(i).ask({"CONFIG", "RESETSTAT"}), "OK");
  std::set<std::size_t> shards;
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key:" + std::to_string(i);
    ASSERT_EQ(shown(asker.ask({"SET", key, "v"}, key)), "OK");
    shards.insert(asker.client->shard(key));
  }
  EXPECT_EQ(shards, (std::set<std::size_t>{0, 1, 2}));
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(cluster->node(i).ask({"INFO", "errorstats"}).find("MOVED"), std::string::npos);
}

TEST_F(RedisClusterTest, TheFirstCallsNeedNoMap) {
  for (std::size_t primary = 0; primary < 3; ++primary) {
    Asker asker(at(*cluster));
    const std::string key = key_of(*cluster, primary);
    EXPECT_EQ(shown(asker.ask({"SET", key, "v"}, key)), "OK");
  }
}

TEST_F(RedisClusterTest, ScriptsRunWhereTheirKeysAreAndAcrossAFlush) {
  Asker asker(at(*cluster));
  const Script script("redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])");
  for (int round = 0; round < 2; ++round) {
    for (std::size_t primary = 0; primary < 3; ++primary)
      EXPECT_EQ(shown(asker.run(script, {key_of(*cluster, primary)}, {"v"})), "v");
    for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(cluster->node(i).ask({"SCRIPT", "FLUSH"}), "OK");
  }
}

TEST_F(RedisClusterTest, KeysOfDifferentSlotsInOneScriptAreRefusedByNameBeforeTheyAreSent) {
  Asker asker(at(*cluster));
  const Script script("return 1");
  const std::string one = key_of(*cluster, 0), other = key_of(*cluster, 1);
  const auto refused = asker.run(script, {one, other});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().detail.find("'" + one + "' and '" + other + "'"), std::string::npos)
      << refused.error().detail;
  EXPECT_EQ(shown(asker.run(script, {"{t}a", "{t}b"})), "1");
}

TEST_F(RedisClusterTest, AMovedSlotIsFollowedAndRemembered) {
  Asker asker(at(*cluster));
  ASSERT_EQ(asker.each({"PING"}).size(), 3u);
  const std::string key = key_of(*cluster, 0);
  const std::size_t slot = slot_of(key);
  ASSERT_EQ(shown(asker.ask({"SET", key, "v"}, key)), "OK");
  const std::size_t shard = asker.client->shard(key);
  begin_move(slot, 0, 1);
  move_key(key, 0, 1);
  end_move(slot, 0, 1);
  ASSERT_EQ(cluster->node(0).ask({"CONFIG", "RESETSTAT"}), "OK");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(shown(asker.ask({"GET", key}, key)), "v");
  EXPECT_NE(cluster->node(0).ask({"INFO", "errorstats"}).find("errorstat_MOVED:count=1\r\n"),
            std::string::npos);
  EXPECT_NE(asker.client->shard(key), shard);
  EXPECT_EQ(asker.client->shards(), 3u);
  begin_move(slot, 1, 0);
  end_move(slot, 1, 0);
}

TEST_F(RedisClusterTest, WhileASlotMovesKeysAreFoundOnBothSides) {
  Asker asker(at(*cluster));
  ASSERT_EQ(asker.each({"PING"}).size(), 3u);
  const std::string tag = key_of(*cluster, 0);
  const std::string here = tag + ":here", there = tag + ":there", fresh = tag + ":fresh";
  const std::size_t slot = slot_of(tag), shard = asker.client->shard(tag);
  for (const std::string& key : {here, there}) ASSERT_EQ(shown(asker.ask({"SET", key, key}, key)), "OK");
  begin_move(slot, 0, 1);
  move_key(there, 0, 1);
  EXPECT_EQ(shown(asker.ask({"GET", here}, here)), here);
  EXPECT_EQ(shown(asker.ask({"GET", there}, there)), there);        // ASK
  EXPECT_EQ(shown(asker.ask({"SET", fresh, "new"}, fresh)), "OK");  // ASK
  const Script script("return redis.call('GET', KEYS[1])");
  ASSERT_EQ(cluster->node(1).ask({"SCRIPT", "FLUSH"}), "OK");
  EXPECT_EQ(shown(asker.run(script, {there})), there);  // ASK, NOSCRIPT, ASK
  EXPECT_EQ(asker.client->shard(tag), shard) << "ASK changes no map";
  move_key(here, 0, 1);
  end_move(slot, 0, 1);
  for (const std::string& key : {here, there}) EXPECT_EQ(shown(asker.ask({"GET", key}, key)), key);
  begin_move(slot, 1, 0);
  end_move(slot, 1, 0);
}

TEST_F(RedisClusterTest, KeysOnBothSidesOfAMovingSlotAreTriedAgainUntilTheDeadlineOrTheEndOfTheMove) {
  Asker asker(at(*cluster));
  ASSERT_EQ(asker.each({"PING"}).size(), 3u);
  const std::string tag = key_of(*cluster, 0);
  const std::string here = tag + ":1", there = tag + ":2";
  const std::size_t slot = slot_of(tag);
  for (const std::string& key : {here, there}) ASSERT_EQ(shown(asker.ask({"SET", key, key}, key)), "OK");
  begin_move(slot, 0, 1);
  move_key(there, 0, 1);
  ASSERT_EQ(cluster->node(0).ask({"CONFIG", "RESETSTAT"}), "OK");
  EXPECT_FALSE(asker.ask({"MGET", here, there}, tag, 50ms));
  const std::string errors = cluster->node(0).ask({"INFO", "errorstats"});
  EXPECT_NE(errors.find("errorstat_TRYAGAIN:count="), std::string::npos) << errors;
  EXPECT_EQ(errors.find("errorstat_TRYAGAIN:count=1\r\n"), std::string::npos) << errors;
  std::optional<Result<Reply>> got;
  asker.client->command(tag, std::array<std::string_view, 3>{"MGET", here, there},
                        [&](Result<Reply> reply) { got = std::move(reply); });
  asker.loop.run_for(10ms);
  EXPECT_FALSE(got.has_value());
  move_key(here, 0, 1);
  end_move(slot, 0, 1);
  ASSERT_TRUE(asker.until([&] { return got.has_value(); }));
  EXPECT_EQ(shown(*got), "(array)");
  begin_move(slot, 1, 0);
  end_move(slot, 1, 0);
}

TEST_F(RedisClusterTest, EachPrimaryAnswersForItself) {
  Asker asker(at(*cluster));
  std::set<std::string> nodes, expected;
  for (const NodeReply& one : asker.each({"CLUSTER", "MYID"})) {
    ASSERT_TRUE(one.reply) << one.reply.error().detail;
    nodes.insert(one.node + " " + *one.reply->text());
  }
  for (std::size_t i = 0; i < 3; ++i) expected.insert(cluster->node(i).address() + " " + cluster->id_of(i));
  EXPECT_EQ(nodes, expected);
}

TEST_F(RedisClusterTest, APausedPrimaryCostsOnlyItsOwnKeysTheirTimeout) {
  Asker asker(at(*cluster, 50ms));
  ASSERT_EQ(asker.each({"PING"}).size(), 3u);
  cluster->node(0).pause();
  const std::string dead = key_of(*cluster, 0), alive = key_of(*cluster, 1);
  EXPECT_EQ(asker.ask({"GET", dead}, dead).error().code, ErrorCode::timed_out);
  EXPECT_EQ(shown(asker.ask({"SET", alive, "v"}, alive)), "OK");
  cluster->node(0).resume();
  EXPECT_TRUE(asker.works({"GET", dead}, dead));
}

TEST_F(RedisClusterTest, WithoutAnyNodeCallsFailAndEachPrimarySaysWhy) {
  RedisServer gone;
  gone.kill();
  Asker asker({.layout = Options::Layout::cluster, .nodes = {local(gone.port())}, .timeout = kUnhurried});
  EXPECT_EQ(asker.ask({"GET", "k"}).error().code, ErrorCode::unavailable);
  const auto replies = asker.each({"PING"});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].reply.error().code, ErrorCode::unavailable);
}

TEST_F(RedisClusterTest, AServerThatIsNoClusterIsNamedAsSuch) {
  RedisServer single;
  Asker asker({.layout = Options::Layout::cluster, .nodes = {local(single.port())}, .timeout = kUnhurried});
  const auto replies = asker.each({"PING"});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_NE(replies[0].reply.error().detail.find("cluster support disabled"), std::string::npos);
  net::IoLoop loop;
  EXPECT_EQ(make_client(loop, {.layout = Options::Layout::cluster, .nodes = {local(1)}, .database = 1})
                .error()
                .code,
            ErrorCode::invalid_argument);
}

TEST(RedisClusterFailover, AKilledPrimaryIsReplacedAndItsKeysComeBack) {
  RedisCluster cluster(3, 1, {}, std::chrono::milliseconds{500});
  Asker asker(at(cluster, 100ms)), idle(at(cluster, 100ms));
  for (Asker* each : {&asker, &idle}) ASSERT_EQ(each->each({"PING"}).size(), 3u);
  const Script script("return redis.call('INCR', KEYS[1])");
  const std::string key = key_of(cluster, 0), other = key_of(cluster, 1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(asker.run(script, {key}));
  ASSERT_EQ(shown(asker.ask({"WAIT", "1", "5000"}, key, kUnhurried)), "1");
  cluster.node(0).kill();
  EXPECT_FALSE(asker.run(script, {key}));
  ASSERT_TRUE(asker.until([&] { return asker.run(script, {key}).has_value(); })) << "never replaced";
  EXPECT_EQ(shown(asker.ask({"GET", key}, key)), "4");
  EXPECT_TRUE(asker.until([&] { return asker.ask({"GET", other}, other).has_value(); }));
  const auto replies = asker.each({"PING"});
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_TRUE(std::ranges::any_of(
      replies, [&](const NodeReply& one) { return one.node == cluster.node(3).address(); }));
  EXPECT_TRUE(std::ranges::none_of(
      replies, [&](const NodeReply& one) { return one.node == cluster.node(0).address(); }));
  // Who asks nothing else finds the new primary, too.
  EXPECT_TRUE(idle.until([&] {
    return std::ranges::all_of(idle.each({"PING"}),
                               [](const NodeReply& one) { return one.reply.has_value(); });
  }));
}

TEST(RedisClusterClock, AClusterFollowsASteeredClockAndStaysOne) {
  dripgate::testing::SteeredClock clock;
  RedisCluster cluster(2, 1, {.clock = &clock});
  clock.set(WallTime{std::chrono::seconds{1'900'000'000}});
  Asker asker(at(cluster));
  const Script script("return redis.call('TIME')[1]");
  for (std::size_t primary = 0; primary < 2; ++primary)
    EXPECT_EQ(shown(asker.run(script, {key_of(cluster, primary)})), "1900000000");
  clock.advance(std::chrono::hours{1});
  for (std::size_t primary = 0; primary < 2; ++primary)
    EXPECT_EQ(shown(asker.run(script, {key_of(cluster, primary)})), "1900003600");
}

}  // namespace
}  // namespace dripgate::redis::testing
