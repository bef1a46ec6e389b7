// What INFO and TIME of a Redis server give away, and that every primary is asked.
#include <gtest/gtest.h>

#include "store/redis/server_check.h"
#include "support/fake_redis.h"
#include "support/virtual_time.h"

namespace dripgate::store {
namespace {

using namespace std::chrono_literals;
using testing::kT0;

constexpr std::string_view kGood =
    "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n\r\n# Memory\r\nmaxmemory:1048576\r\n"
    "maxmemory_human:1.00M\r\nmaxmemory_policy:noeviction\r\n";

std::string with(std::string_view from, std::string_view to) {
  std::string info(kGood);
  return info.replace(info.find(from), from.size(), to);
}

TEST(ServerCheck, AGoodServerHasNoWarning) {
  EXPECT_TRUE(info_warnings(kGood).empty());
  EXPECT_TRUE(info_warnings(with("7.0.15", "10.1.0")).empty());
}

TEST(ServerCheck, APolicyThatCanEvictIsNamed) {
  for (const char* policy : {"allkeys-lru", "volatile-ttl", "volatile-lru", "allkeys-random"}) {
    const auto warnings = info_warnings(with("noeviction", policy));
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find(policy), std::string::npos);
    EXPECT_NE(warnings[0].find("set noeviction"), std::string::npos);
  }
}

TEST(ServerCheck, WithoutAMemoryLimitNothingIsEvicted) {
  std::string info = with("noeviction", "allkeys-lru");
  info.replace(info.find("maxmemory:1048576"), 17, "maxmemory:0");
  EXPECT_TRUE(info_warnings(info).empty());
}

TEST(ServerCheck, AnOldVersionIsNamed) {
  const auto warnings = info_warnings(with("7.0.15", "6.2.14"));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("6.2.14"), std::string::npos);
}

TEST(ServerCheck, AnInfoThatSaysNothingIsTwoWarnings) {
  EXPECT_EQ(info_warnings("").size(), 2u);
  EXPECT_EQ(info_warnings("redis_version:x\nmaxmemory_policy").size(), 2u);
}

TEST(ServerCheck, ClocksMayDifferByASecondBeyondTheTimeOfTheQuestion) {
  EXPECT_EQ(clock_warning(kT0, kT0, kT0), "");
  EXPECT_EQ(clock_warning(kT0 - 1s, kT0, kT0 + 3s), "");
  EXPECT_EQ(clock_warning(kT0 + 4s, kT0, kT0 + 3s), "");
  EXPECT_NE(clock_warning(kT0 - 1s - 1us, kT0, kT0 + 3s).find("1.0 s behind"), std::string::npos);
  EXPECT_NE(clock_warning(kT0 + 65'400ms, kT0, kT0).find("65.4 s ahead"), std::string::npos);
}

TEST(ServerCheck, EveryPrimaryIsAskedAndNamed) {
  testing::VirtualClock host;
  testing::FakeRedis redis;
  const auto time = [](WallTime t) {
    const std::int64_t us = to_us(t);
    return redis::Reply{
        std::vector<redis::Reply>{{std::to_string(us / 1'000'000)}, {std::to_string(us % 1'000'000)}}};
  };
  redis.primaries = {
      {"good:1", {{"INFO", redis::Reply{std::string(kGood)}}, {"TIME", time(kT0 + 300ms)}}},
      {"evicts:2", {{"INFO", redis::Reply{with("noeviction", "allkeys-lfu")}}, {"TIME", time(kT0 - 2s)}}},
      {"away:3", {}},
  };
  std::optional<std::vector<ServerWarning>> found;
  check_servers(redis, host, [&](std::vector<ServerWarning> warnings) {
    EXPECT_FALSE(found) << "done ran twice";
    found = std::move(warnings);
  });
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ(found->at(0).node, "evicts:2");
  EXPECT_EQ(found->at(1).node, "away:3");
  EXPECT_NE(found->at(1).text.find("could not be checked: by script"), std::string::npos);
  EXPECT_EQ(found->at(2).node, "evicts:2");
  EXPECT_NE(found->at(2).text.find("2.0 s behind"), std::string::npos);
}

}  // namespace
}  // namespace dripgate::store
