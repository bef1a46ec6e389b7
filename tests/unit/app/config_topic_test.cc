// When an instance looks whether a reload was asked for, and when it reports. What the scripts keep is in
// config_reports_test.
#include "app/config_topic.h"

#include <gtest/gtest.h>

#include "support/fake_redis.h"
#include "support/virtual_time.h"

namespace dripgate::app {
namespace {

using namespace std::chrono_literals;

class ConfigTopicTest : public ::testing::Test {
 protected:
  void number(const std::string& text) { redis.command_replies["GET"] = redis::Reply{text}; }
  static ConfigReport report(const std::string& version) {
    return {.part = "worker", .config = {.version = version, .applied = testing::kT0, .reload = 3}};
  }

  testing::VirtualClock clock;
  testing::SimExecutor executor{clock};
  testing::FakeRedis redis;
  std::vector<std::int64_t> asked;
  std::unique_ptr<ConfigTopic> topic = std::make_unique<ConfigTopic>(
      redis, executor, "p:", "me", [this](std::int64_t number) { asked.push_back(number); });
};

TEST_F(ConfigTopicTest, TakesTheNumberOfTheStartAndAsksForEachNewOneOnce) {
  redis.command_replies["GET"] = redis::Reply{redis::Nil{}};
  topic->start();
  topic->start();
  EXPECT_EQ(redis.commands, (std::vector<std::vector<std::string>>{{"GET", "p:{cfg}:reload"}}));
  EXPECT_EQ(asked, std::vector<std::int64_t>{0});
  number("1");
  topic->look();
  topic->look();
  number("3");
  topic->look();
  EXPECT_EQ(asked, (std::vector<std::int64_t>{0, 1, 3}));
}

TEST_F(ConfigTopicTest, AMessageThatIsLostIsCaughtByThePoll) {
  number("7");
  topic->start();
  number("8");
  executor.run_for(kConfigPollEvery - 1us);
  EXPECT_EQ(asked, std::vector<std::int64_t>{7});
  executor.run_for(1us);
  EXPECT_EQ(asked, (std::vector<std::int64_t>{7, 8}));
  executor.run_for(10 * kConfigPollEvery);
  EXPECT_EQ(asked.size(), 2u);
  EXPECT_EQ(redis.commands.size(), 12u);
}

TEST_F(ConfigTopicTest, LooksWhenItListensAgain) {
  number("1");
  topic->start();
  number("2");
  topic->listening();
  EXPECT_EQ(asked, (std::vector<std::int64_t>{1, 2}));
}

TEST_F(ConfigTopicTest, AnEmptiedRedisCountsFromTheBeginningAndIsHeard) {
  number("7");
  topic->start();
  redis.command_replies["GET"] = redis::Reply{redis::Nil{}};
  executor.run_for(kConfigPollEvery);
  number("1");
  executor.run_for(kConfigPollEvery);
  EXPECT_EQ(asked, (std::vector<std::int64_t>{7, 0, 1}));
}

TEST_F(ConfigTopicTest, ARedisThatIsAwayOrHoldsRubbishAsksForNothing) {
  topic->start();
  executor.run_for(3 * kConfigPollEvery);
  for (const char* rubbish : {"", "x", "1x", "99999999999999999999"}) {
    number(rubbish);
    executor.run_for(kConfigPollEvery);
  }
  EXPECT_TRUE(asked.empty());
  number("4");
  executor.run_for(kConfigPollEvery);
  EXPECT_EQ(asked, std::vector<std::int64_t>{4});
}

TEST_F(ConfigTopicTest, ReportsWhatIsNewAndRepeatsItWithEveryPoll) {
  topic->start();
  EXPECT_TRUE(redis.runs.empty()) << "nothing to say yet";
  topic->report(report("aaa"));
  topic->report(report("aaa"));
  ASSERT_EQ(redis.runs.size(), 1u);
  EXPECT_EQ(redis.runs[0].keys, (std::vector<std::string>{"p:{cfg}:seen", "p:{cfg}:reports"}));
  EXPECT_EQ(redis.runs[0].arguments, (std::vector<std::string>{"me", to_text(report("aaa")), "100000"}));
  executor.run_for(2 * kConfigPollEvery);
  EXPECT_EQ(redis.runs.size(), 3u);
  topic->report(report("bbb"));
  ASSERT_EQ(redis.runs.size(), 4u);
  EXPECT_EQ(redis.runs[3].arguments[1], to_text(report("bbb")));
  topic->listening();
  EXPECT_EQ(redis.runs.size(), 5u) << "a Redis that was away may have lost it";
}

TEST_F(ConfigTopicTest, LeavesAndIsSilentThenWhetherRedisHearsItOrNot) {
  for (const bool away : {false, true}) {
    ConfigTopic leaving(redis, executor, "", "me", [](std::int64_t) {});
    leaving.start();
    leaving.report(report("aaa"));
    if (away) redis.script_reply = fail(ErrorCode::unavailable, "by script");
    int done = 0;
    leaving.leave([&] { ++done; });
    EXPECT_EQ(done, 1);
    EXPECT_EQ(redis.runs.back().arguments, (std::vector<std::string>{"me", "", "100000"}));
    const std::size_t sent = redis.runs.size();
    leaving.report(report("bbb"));
    leaving.look();
    executor.run_for(3 * kConfigPollEvery);
    EXPECT_EQ(redis.runs.size(), sent);
  }
}

TEST_F(ConfigTopicTest, ADestroyedOneLooksNoMore) {
  topic->start();
  topic.reset();
  executor.run_for(5 * kConfigPollEvery);
  EXPECT_EQ(redis.commands.size(), 1u);
}

TEST(ConfigReport, ComesBackAsItWasWritten) {
  ConfigReport report{.instance = "host-1-ab",
                      .part = "dispatch",
                      .config = {.version = "0123456789ab",
                                 .applied = testing::kT0 + 5ms,
                                 .reload = 42,
                                 .refused = "dripgate.yaml:3:7: unknown key 'limt'"},
                      .age = 3s};
  const auto read = read_config_report("host-1-ab", 3s, to_text(report));
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(read->instance, "host-1-ab");
  EXPECT_EQ(read->part, "dispatch");
  EXPECT_EQ(read->config, report.config);
  EXPECT_EQ(read->age, 3s);
}

TEST(ConfigReport, ALongRefusalIsCutAndForeignBytesAreReplaced) {
  ConfigReport report{.config = {.applied = testing::kT0, .refused = "\xff" + std::string(100'000, 'x')}};
  const std::string text = to_text(report);
  EXPECT_LT(text.size(), kRefusalBytesMax + 200);
  EXPECT_TRUE(read_config_report("i", {}, text));
}

TEST(ConfigReport, WhatIsNoReportIsNamed) {
  for (const char* text : {"", "[]", "{}", "3", R"({"reload":1,"appliedAt":"yesterday"})",
                           R"({"reload":"1","appliedAt":"2026-08-03T14:02:00Z"})"}) {
    const auto read = read_config_report("host-1", {}, text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::corrupt);
    EXPECT_NE(read.error().detail.find("host-1"), std::string::npos);
  }
}

}  // namespace
}  // namespace dripgate::app
