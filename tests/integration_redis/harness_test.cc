// The harness itself: real servers follow the steered clock, come back from a kill, and say why they cannot.
#include <gtest/gtest.h>

#include "support/redis/redis_server.h"
#include "support/virtual_time.h"

namespace dripgate::testing {
namespace {

constexpr auto kTimeInLua = "local t = redis.call('TIME') return t[1] .. '.' .. t[2]";

TEST(RedisHarness, TimeFollowsTheSteeredClockOutsideAndInsideOfLua) {
  SteeredClock clock;
  RedisServer redis({.clock = &clock});
  clock.set(kT0 + Duration{7});
  EXPECT_EQ(redis.ask({"TIME"}), "1800000000\n7");
  EXPECT_EQ(redis.ask({"EVAL", kTimeInLua, "0"}), "1800000000.7");
  clock.advance(std::chrono::seconds{5});
  EXPECT_EQ(redis.ask({"TIME"}), "1800000005\n7");
  EXPECT_EQ(redis.ask({"EVAL", kTimeInLua, "0"}), "1800000005.7");
}

TEST(RedisHarness, AKeyExpiresWhenTheSteeredClockJumpsAndNotBefore) {
  SteeredClock clock;
  RedisServer redis({.clock = &clock});
  clock.set(kT0);
  EXPECT_EQ(redis.ask({"SET", "key", "value", "PX", "60000"}), "OK");
  EXPECT_EQ(redis.ask({"EVAL", "return redis.call('PEXPIRE', KEYS[1], 60000)", "1", "key"}), "1");
  clock.advance(std::chrono::milliseconds{59'999});
  EXPECT_EQ(redis.ask({"GET", "key"}), "value");
  EXPECT_EQ(redis.ask({"PTTL", "key"}), "1");
  clock.advance(std::chrono::milliseconds{2});
  EXPECT_EQ(redis.ask({"GET", "key"}), "");
}

TEST(RedisHarness, WithoutSteeringTheClockIsReal) {
  SteeredClock clock;
  RedisServer redis({.clock = &clock});
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  EXPECT_NEAR(static_cast<double>(std::stoll(redis.ask({"TIME"}))), static_cast<double>(seconds.count()), 5);
}

TEST(RedisHarness, AKilledServerComesBackOnItsPortWithItsAppendOnlyFile) {
  RedisServer redis({.lines = {"appendonly yes", "appendfsync always"}, .password = "secret"});
  EXPECT_EQ(redis.ask({"SET", "key", "kept"}), "OK");
  redis.kill();
  EXPECT_EQ(redis.ask({"PING"}), "-no connection");
  redis.restart();
  EXPECT_EQ(redis.ask({"GET", "key"}), "kept");
  EXPECT_TRUE(ask_redis(redis.port(), {"PING"}).starts_with("-NOAUTH"));
}

TEST(RedisHarness, AServerThatCannotStartThrowsItsOwnWords) {
  try {
    RedisServer redis({.lines = {"no-such-directive yes"}});
    FAIL() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-directive"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace dripgate::testing
