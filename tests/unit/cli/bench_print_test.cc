// What `dripgate bench store` prints of a result.
#include "cli/bench_print.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dripgate::cli {
namespace {

using namespace std::chrono_literals;

capacity::Step step(int percent) {
  return {.percent = percent,
          .offered_per_second = percent * 600.0,
          .answered_per_second = percent * 599.0,
          .answered = 1000,
          .late_share = 0.015,
          .p50 = 230us,
          .p95 = 1400us,
          .p99 = 5200us,
          .redis_us_per_call = 6.25,
          .own_cpu_share = 0.41,
          .shards = {{.answered_per_second = percent * 300.0, .p99 = 5ms},
                     {.answered_per_second = percent * 299.0, .p99 = 6ms}}};
}

capacity::BenchResult result() {
  capacity::BenchResult all;
  all.primaries = {"a:1, Redis 7.0.15", "b:2, Redis 7.0.15"};
  all.connections = 50;
  all.clients = 200;
  all.keys = 50'000;
  all.peak = 60'000;
  all.bytes_per_key = 120;
  all.saturation = step(0);
  all.steps = {step(25), step(50), step(100)};
  all.accuracy = {
      {.algorithm = core::Algorithm::sliding_log, .limit = 1000, .admitted = 1000, .asked = 3000}};
  all.plan = capacity::shards_for({}, 8, 120);
  return all;
}

bool has(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

TEST(BenchText, AnswersEveryQuestion) {
  const std::string text = bench_text(result(), {}, 5ms);
  for (const char* line :
       {"primary  b:2, Redis 7.0.15", "100 % = 60000 calls/s", "> 5 ms", "0.23     1.40     5.20",
        "sliding-log   1000 / 1000 = 1.000 of 3000 calls", "120 B per key",
        "75000 calls/s at 62500 calls/s per shard (50 % of its command thread): 2 shards",
        "240 MB of keys, 120 MB per shard"})
    EXPECT_TRUE(has(text, line)) << line << "\n" << text;
  EXPECT_FALSE(has(text, "lost"));
}

TEST(BenchText, SaysWhatIsUnknownAndWhatFailed) {
  capacity::BenchResult one = result();
  one.plan.reset();
  one.bytes_per_key = 0;
  one.keys_left = 17;
  one.steps[2].failed = 9;
  one.steps[2].failure = "redis a:1: OOM \x1b[31m";
  capacity::Outage outage{.node = "a:1", .steps = {step(25)}};
  outage.steps[0].shards[0].failed = 77;
  one.outage = outage;
  const std::string text = bench_text(one, {}, 5ms);
  for (const char* line :
       {"unknown: INFO does not tell what a call costs", "memory   unknown", "17 keys could not be removed",
        "first failure: redis a:1: OOM ?[31m", "with a:1 lost", "77 failed", "were not answered again"})
    EXPECT_TRUE(has(text, line)) << line << "\n" << text;
  one.outage->back_after = 2340ms;
  EXPECT_TRUE(has(bench_text(one, {}, 5ms), "2.3 s after the loss"));
}

TEST(BenchJson, HoldsTheSame) {
  const auto json = nlohmann::json::parse(bench_json(result(), {}, 5ms));
  EXPECT_EQ(json.at("steps").size(), 3u);
  EXPECT_EQ(json.at("steps")[2].at("p99Us"), 5200);
  EXPECT_EQ(json.at("accuracy")[0].at("admittedPerLimit"), 1.0);
  EXPECT_EQ(json.at("plan").at("shards"), 2);
  EXPECT_EQ(json.at("load").at("requestsPerSecond"), 50'000);
  EXPECT_TRUE(json.at("outage").is_null());
}

}  // namespace
}  // namespace dripgate::cli
