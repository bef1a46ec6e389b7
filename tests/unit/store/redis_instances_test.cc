// When heartbeats are sent and what becomes of their answers. What the script counts is in
// tests/integration_redis.
#include <gtest/gtest.h>

#include "store/redis/instances.h"
#include "support/fake_redis.h"
#include "support/virtual_time.h"

namespace dripgate::store {
namespace {

using namespace std::chrono_literals;

class InstancesTest : public ::testing::Test {
 protected:
  testing::VirtualClock clock;
  testing::SimExecutor executor{clock};
  testing::FakeRedis redis;
  std::vector<int> counts;
  std::unique_ptr<Instances> instances =
      std::make_unique<Instances>(redis, executor, "prefix:", [this](int count) { counts.push_back(count); });
};

TEST_F(InstancesTest, BeatsAtOnceAndThenEverySecondUnderOneId) {
  redis.script_reply = redis::Reply{std::int64_t{3}};
  instances->start();
  instances->start();
  ASSERT_EQ(redis.runs.size(), 1u);
  executor.run_for(10s);
  EXPECT_EQ(redis.runs.size(), 11u);
  for (const auto& run : redis.runs) {
    EXPECT_EQ(run.keys, std::vector<std::string>{"prefix:rl:instances"});
    EXPECT_EQ(run.arguments, (std::vector<std::string>{instances->id(), "1", "5000"}));
  }
  EXPECT_EQ(counts, std::vector<int>(11, 3));
}

TEST_F(InstancesTest, KeepsTheLastCountWhileRedisIsAwayAndGoesOnBeating) {
  redis.script_reply = redis::Reply{std::int64_t{7}};
  instances->start();
  redis.script_reply = fail(ErrorCode::timed_out, "by script");
  executor.run_for(60s);
  EXPECT_EQ(counts, std::vector<int>{7});
  redis.script_reply = redis::Reply{std::int64_t{2}};
  executor.run_for(1s);
  EXPECT_EQ(counts, (std::vector<int>{7, 2}));
}

TEST_F(InstancesTest, LeavesOnStopAndSaysSoWhetherRedisHearsItOrNot) {
  for (const bool away : {false, true}) {
    Instances leaving(redis, executor, "", [](int) {});
    leaving.start();
    if (away) redis.script_reply = fail(ErrorCode::unavailable, "by script");
    int done = 0;
    leaving.stop([&] { ++done; });
    EXPECT_EQ(done, 1);
    EXPECT_EQ(redis.runs.back().arguments, (std::vector<std::string>{leaving.id(), "0", "5000"}));
    const std::size_t sent = redis.runs.size();
    executor.run_for(10s);
    EXPECT_EQ(redis.runs.size(), sent) << "no heartbeat after it left";
  }
}

TEST_F(InstancesTest, TwoProcessesHaveTwoIds) {
  EXPECT_NE(instances->id(), Instances(redis, executor, "", [](int) {}).id());
}

TEST_F(InstancesTest, ADestroyedOneBeatsNoMore) {
  instances->start();
  instances.reset();
  executor.run_for(10s);
  EXPECT_EQ(redis.runs.size(), 1u);
}

}  // namespace
}  // namespace dripgate::store
