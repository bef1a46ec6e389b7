// Quantiles, INFO and the arithmetic of a plan.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "capacity/histogram.h"
#include "capacity/plan.h"
#include "capacity/servers.h"

namespace dripgate::capacity {
namespace {

using namespace std::chrono_literals;

TEST(Histogram, NothingHasNoQuantile) {
  EXPECT_EQ(Histogram().at(0.99), 0us);
  EXPECT_EQ(Histogram().count(), 0u);
}

TEST(Histogram, QuantilesAreTheTrueOnesOrOneStepAbove) {
  std::mt19937_64 random(7);
  for (const double scale : {3.0, 10.0, 17.0, 21.0}) {
    Histogram histogram;
    std::vector<std::int64_t> all;
    std::lognormal_distribution<double> spread(scale / 2, 1.5);
    for (int i = 0; i < 20'000; ++i) {
      all.push_back(std::min(static_cast<std::int64_t>(spread(random)), Duration{1h}.count()));
      histogram.add(Duration{all.back()});
    }
    std::ranges::sort(all);
    for (const double share : {0.01, 0.5, 0.95, 0.99, 0.999, 1.0}) {
      const std::int64_t true_one = all[static_cast<std::size_t>(std::ceil(share * 20'000)) - 1];
      const std::int64_t shown = histogram.at(share).count();
      EXPECT_GE(shown, true_one) << share;
      EXPECT_LE(shown, true_one + true_one / 64 + 1) << share;
    }
  }
}

TEST(Histogram, TheShortestAndTheLongestAreKept) {
  Histogram histogram;
  histogram.add(-5us);
  EXPECT_EQ(histogram.at(1), 0us);
  histogram.add(std::chrono::hours{24 * 365});
  EXPECT_GE(histogram.at(1), Histogram::kLongest);
  EXPECT_LE(histogram.at(1), Histogram::kLongest * 65 / 64);
}

TEST(Histogram, MergedIsAsAddedToOne) {
  Histogram one, other, both;
  for (int i = 0; i < 1000; ++i) {
    (i % 3 == 0 ? one : other).add(Duration{i * i});
    both.add(Duration{i * i});
  }
  one.merge(other);
  EXPECT_EQ(one.count(), both.count());
  for (const double share : {0.1, 0.5, 0.9}) EXPECT_EQ(one.at(share), both.at(share));
}

TEST(ShardPlan, HalfOfACommandThreadIsPlanned) {
  const ShardPlan plan = shards_for(Load{}, 8.0, 120);  // the original plan; 125,000 calls fill a thread
  EXPECT_DOUBLE_EQ(plan.calls_per_second, 75'000);
  EXPECT_DOUBLE_EQ(plan.calls_per_shard, 62'500);
  EXPECT_EQ(plan.shards, 2u);
  EXPECT_DOUBLE_EQ(plan.bytes, 240e6);
  EXPECT_DOUBLE_EQ(plan.bytes_per_shard, 120e6);
}

TEST(ShardPlan, AnyLoadNeedsOneAndAFullOneNoMore) {
  EXPECT_EQ(shards_for({.requests_per_second = 1, .checks_per_request = 1}, 5, 0).shards, 1u);
  EXPECT_EQ(shards_for({.requests_per_second = 100'000, .checks_per_request = 1}, 5, 0).shards, 1u);
  EXPECT_EQ(shards_for({.requests_per_second = 100'001, .checks_per_request = 1}, 5, 0).shards, 2u);
}

constexpr const char* kInfo =
    "# Server\r\nredis_version:7.0.15\r\n# "
    "Memory\r\nused_memory:1300\r\nmem_clients_normal:200\r\nmem_aof_buffer:100\r\nused_memory_human:1K\r\n# "
    "CPU\r\n"
    "used_cpu_sys:9.0\r\nused_cpu_user:9.0\r\nused_cpu_sys_main_thread:0.5\r\nused_cpu_user_main_thread:1."
    "25\r\n";

TEST(ServerUse, AddsUpWhatThePrimariesSay) {
  const ServerUse use = use_of({{"a:1", redis::Reply{kInfo}},
                                {"b:2", redis::Reply{kInfo}},
                                {"c:3", fail(ErrorCode::unavailable, "away")}});
  EXPECT_EQ(use.nodes, (std::vector<std::string>{"a:1, Redis 7.0.15", "b:2, Redis 7.0.15"}));
  EXPECT_EQ(use.silent, std::vector<std::string>{"c:3"});
  EXPECT_DOUBLE_EQ(use.memory.value_or(0), 2000);
  EXPECT_DOUBLE_EQ(use.cpu_us.value_or(0), 3'500'000);
}

TEST(ServerUse, TakesAllCpuOfAServerThatDoesNotTellItsThreadsApart) {
  EXPECT_DOUBLE_EQ(
      use_of({{"a:1", redis::Reply{"# CPU\r\nused_cpu_sys:1.5\r\nused_cpu_user:2\r\n"}}}).cpu_us.value_or(0),
      3'500'000);
}

TEST(ServerUse, WhatIsMissingStaysUnknown) {
  const ServerUse use = use_of({{"a:1", redis::Reply{"# Server\r\nused_memory:x\r\n"}}});
  EXPECT_FALSE(use.memory);
  EXPECT_FALSE(use.cpu_us);
  EXPECT_EQ(use.nodes, std::vector<std::string>{"a:1, Redis ?"});
}

}  // namespace
}  // namespace dripgate::capacity
