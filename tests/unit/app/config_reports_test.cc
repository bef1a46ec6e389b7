// The reports of instances on a real Redis, whose clock the test steers: what an operator sees of them.
#include <gtest/gtest.h>

#include "app/config_topic.h"
#include "app/fleet.h"
#include "support/redis/redis_server.h"
#include "support/sim_redis_client.h"
#include "support/virtual_time.h"

namespace dripgate::app {
namespace {

using namespace std::chrono_literals;

class RedisConfigReports : public ::testing::Test {
 protected:
  void SetUp() override {
    redis_clock.set(testing::kT0);
    config::RedisStore store;
    store.nodes = {{.host = "127.0.0.1", .port = server.port()}};
    store.key_prefix = "p:";
    auto made = Fleet::make(store);
    ASSERT_TRUE(made) << made.error().detail;
    fleet = std::move(*made);
    // Its first call may come before the connection.
    ASSERT_TRUE(testing::eventually([&] { return fleet->instances().has_value(); }));
  }
  void report(const std::string& instance, const std::string& version, std::int64_t reload = 0) {
    ConfigTopic topic(client, executor, "p:", instance, [](std::int64_t) {});
    topic.start();
    topic.report(
        {.part = "worker", .config = {.version = version, .applied = testing::kT0, .reload = reload}});
    executor.run_ready();
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    const auto reports = fleet->instances();
    if (!reports) return {reports.error().detail};
    for (const ConfigReport& one : *reports) all.push_back(one.instance + "=" + one.config.version);
    return all;
  }

  testing::SteeredClock redis_clock;
  testing::RedisServer server{{.clock = &redis_clock}};
  testing::VirtualClock clock;
  testing::SimExecutor executor{clock};
  testing::SimRedisClient client{server.port(), executor, [] {}};
  std::unique_ptr<Fleet> fleet;
};

TEST_F(RedisConfigReports, ShowTheLastOneOfEachInstanceWithItsAge) {
  report("b", "v1");
  redis_clock.advance(2s);
  report("a", "v1", 1);
  report("a", "v2", 2);
  redis_clock.advance(1500ms);
  const auto reports = fleet->instances();
  ASSERT_TRUE(reports) << reports.error().detail;
  ASSERT_EQ(reports->size(), 2u);
  EXPECT_EQ(reports->at(0).instance, "a");
  EXPECT_EQ(reports->at(0).config.version, "v2");
  EXPECT_EQ(reports->at(0).config.reload, 2);
  EXPECT_EQ(reports->at(0).age, 1500ms);
  EXPECT_EQ(reports->at(1).age, 3500ms);
}

TEST_F(RedisConfigReports, ForgetAnInstanceThatIsSilentForTooLong) {
  report("a", "v1");
  redis_clock.advance(kConfigReportKept - 1ms);
  report("b", "v1");
  EXPECT_EQ(names(), (std::vector<std::string>{"a=v1", "b=v1"}));
  redis_clock.advance(2ms);
  EXPECT_EQ(names(), std::vector<std::string>{"b=v1"}) << "not shown, though nobody has reported since";
  report("b", "v1");
  EXPECT_EQ(server.ask({"HLEN", "p:{cfg}:reports"}), "1") << "and gone with the next report";
  redis_clock.advance(kConfigReportKept + 1ms);
  EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(RedisConfigReports, ForgetWhatWasWrittenBeforeTheClockSteppedFarBack) {
  report("a", "v1");
  redis_clock.set(testing::kT0 - 1h);
  EXPECT_EQ(names(), std::vector<std::string>{});
  report("b", "v1");
  EXPECT_EQ(server.ask({"HLEN", "p:{cfg}:reports"}), "1");
}

TEST_F(RedisConfigReports, AreGoneWhenTheirInstanceLeaves) {
  ConfigTopic topic(client, executor, "p:", "a", [](std::int64_t) {});
  topic.start();
  topic.report({.config = {.version = "v1", .applied = testing::kT0}});
  executor.run_ready();
  EXPECT_EQ(names(), std::vector<std::string>{"a=v1"});
  bool left = false;
  topic.leave([&] { left = true; });
  executor.run_ready();
  EXPECT_TRUE(left);
  EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(RedisConfigReports, AReloadIsCountedAndHeard) {
  std::vector<std::int64_t> asked;
  ConfigTopic topic(client, executor, "p:", "a", [&](std::int64_t number) { asked.push_back(number); });
  topic.start();
  executor.run_ready();
  EXPECT_EQ(fleet->ask_reload().value(), 1);
  EXPECT_EQ(fleet->ask_reload().value(), 2);
  EXPECT_TRUE(fleet->tell(2));
  topic.look();
  executor.run_ready();
  EXPECT_EQ(asked, (std::vector<std::int64_t>{0, 2}));
}

TEST_F(RedisConfigReports, ForeignOnesAreNamed) {
  report("a", "v1");
  EXPECT_EQ(server.ask({"HSET", "p:{cfg}:reports", "a", "rubbish"}), "0");
  const auto reports = fleet->instances();
  ASSERT_FALSE(reports);
  EXPECT_EQ(reports.error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace dripgate::app
