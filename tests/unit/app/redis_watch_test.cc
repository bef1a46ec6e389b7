// What a process says about its Redis: lost and back once each, and what its settings promise less.
#include "app/redis_watch.h"

#include <gtest/gtest.h>

#include "support/fake_redis.h"
#include "support/virtual_time.h"

namespace dripgate::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* kGoodInfo =
    "# Server\r\nredis_version:7.0.15\r\n# "
    "Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n";

class RedisWatchTest : public ::testing::Test {
 protected:
  using Primary = testing::FakeRedis::Primary;

  Primary good(const std::string& node) {
    const std::int64_t us = to_us(clock.now());
    return {node,
            {{"PING", redis::Reply{"PONG"}},
             {"INFO", redis::Reply{kGoodInfo}},
             {"CONFIG", redis::Reply{std::vector<redis::Reply>{{"appendfsync"}, {"always"}}}},
             {"TIME", redis::Reply{std::vector<redis::Reply>{{std::to_string(us / 1'000'000)}, {"0"}}}}}};
  }
  static Primary away(const std::string& node) { return {node, {}}; }
  std::size_t lines(const std::string& what) {
    return static_cast<std::size_t>(std::ranges::count_if(
        log_lines, [&](const std::string& line) { return line.find(what) != std::string::npos; }));
  }

  testing::VirtualClock clock;
  testing::SimExecutor executor{clock};
  testing::FakeRedis redis;
  Health health;
  std::vector<std::string> log_lines;
  obs::Log log{{.write = [this](std::string_view line) { log_lines.emplace_back(line); }}};
  RedisWatch watch{redis, RedisHolds::events, executor, clock, health, log};
};

TEST_F(RedisWatchTest, AGoodRedisIsSilent) {
  redis.primaries = {good("a:1")};
  watch.start();
  executor.run_for(60s);
  EXPECT_TRUE(log_lines.empty()) << log_lines.front();
  EXPECT_TRUE(health.warnings().empty());
}

TEST_F(RedisWatchTest, LossAndReturnAreOneLineEach) {
  redis.primaries = {good("a:1")};
  watch.start();
  executor.run_for(5s);
  redis.primaries = {away("a:1")};
  executor.run_for(30s);
  EXPECT_EQ(log_lines.size(), 1u);
  EXPECT_EQ(lines("redis is away"), 1u);
  EXPECT_EQ(lines("by script"), 1u) << "in Redis' own words";
  ASSERT_EQ(health.warnings().size(), 1u);
  EXPECT_NE(health.warnings().front().find("redis is away"), std::string::npos) << health.warnings().front();
  redis.primaries = {good("a:1")};
  executor.run_for(30s);
  EXPECT_EQ(log_lines.size(), 2u);
  EXPECT_EQ(lines("redis answers again"), 1u);
  EXPECT_EQ(lines("away_ms=30000"), 1u) << log_lines.back();
  EXPECT_TRUE(health.warnings().empty());
}

TEST_F(RedisWatchTest, OneThatIsAwayAtTheStartIsSaidToo) {
  redis.primaries = {away("a:1")};
  watch.start();
  EXPECT_EQ(lines("redis is away"), 1u);
}

TEST_F(RedisWatchTest, EveryLostPrimaryOfAClusterIsNamedOnce) {
  redis.primaries = {good("a:1"), good("b:2"), good("c:3")};
  watch.start();
  redis.primaries[1] = away("b:2");
  executor.run_for(5s);
  redis.primaries[2] = away("c:3");
  executor.run_for(5s);
  EXPECT_EQ(lines("redis is away"), 2u);
  redis.primaries[1] = good("b:2");
  executor.run_for(5s);
  EXPECT_EQ(lines("redis answers again"), 0u) << "one is still away";
  redis.primaries[2] = good("d:4");
  executor.run_for(5s);
  EXPECT_EQ(lines("redis answers again"), 1u);
}

TEST_F(RedisWatchTest, TheOneServerUnderAnotherNameIsTheSameLoss) {
  redis.primaries = {away("old:1")};
  watch.start();
  redis.primaries = {away("new:2")};
  executor.run_for(5s);
  EXPECT_EQ(lines("redis is away"), 1u);
}

TEST_F(RedisWatchTest, SettingsAreCheckedAtTheStartAndWhenItIsBack) {
  redis.primaries = {good("a:1")};
  redis.primaries[0].replies["INFO"] = redis::Reply{
      "redis_version:6.2.0\r\nmaxmemory:100\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:1\r\n"};
  redis.primaries[0].replies["TIME"] =
      redis::Reply{std::vector<redis::Reply>{{std::to_string(to_us(testing::kT0) / 1'000'000 - 5)}, {"0"}}};
  redis.primaries[0].replies["CONFIG"] =
      redis::Reply{std::vector<redis::Reply>{{"appendfsync"}, {"everysec"}}};
  watch.start();
  const auto has = [this](std::size_t index, const char* what) {
    return index < health.warnings().size() && health.warnings()[index].find(what) != std::string::npos;
  };
  ASSERT_EQ(health.warnings().size(), 4u);
  EXPECT_TRUE(has(0, "redis a:1 is version 6.2.0"));
  EXPECT_TRUE(has(1, "maxmemory-policy allkeys-lru"));
  EXPECT_TRUE(has(2, "5.0 s behind"));
  EXPECT_TRUE(has(3, "appendfsync is everysec"));
  EXPECT_EQ(log_lines.size(), 4u);
  redis.primaries = {away("a:1")};
  executor.run_for(5s);
  redis.primaries = {good("a:1")};
  executor.run_for(5s);
  EXPECT_TRUE(health.warnings().empty()) << "it came back with other settings";
}

TEST_F(RedisWatchTest, TheSameWarningIsLoggedOnce) {
  const auto weak = [this] {
    Primary primary = good("a:1");
    primary.replies["CONFIG"] = redis::Reply{std::vector<redis::Reply>{{"appendfsync"}, {"no"}}};
    return primary;
  };
  redis.primaries = {weak()};
  watch.start();
  redis.primaries = {away("a:1")};
  executor.run_for(5s);
  redis.primaries = {weak()};
  executor.run_for(5s);
  EXPECT_EQ(lines("appendfsync is no"), 1u);
  EXPECT_EQ(health.warnings().size(), 1u);
}

TEST_F(RedisWatchTest, CountersAloneNeedNoSyncOfEveryWrite) {
  redis.primaries = {good("a:1")};
  redis.primaries[0].replies.insert_or_assign(
      "CONFIG", redis::Reply{std::vector<redis::Reply>{{"appendfsync"}, {"no"}}});
  RedisWatch counters{redis, RedisHolds::counters, executor, clock, health, log};
  counters.start();
  executor.run_for(5s);
  EXPECT_TRUE(health.warnings().empty()) << health.warnings().front();
}

TEST_F(RedisWatchTest, AServiceWithoutConfigWorks) {
  redis.primaries = {good("a:1")};
  redis.primaries[0].replies.erase("CONFIG");
  watch.start();
  executor.run_for(5s);
  EXPECT_TRUE(log_lines.empty()) << log_lines.front();
}

}  // namespace
}  // namespace dripgate::app
