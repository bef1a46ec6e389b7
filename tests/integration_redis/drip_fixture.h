// Workers on one loop, what they delivered and what they released, for the tests of the drip on real servers
// in real time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "broker/redis_streams/keys.h"
#include "support/redis/redis_server.h"
#include "support/redis_drip.h"

namespace dripgate::testing {

namespace rs = broker::redis_streams;

inline constexpr core::Units kLimit = 100;
inline constexpr Duration kPatience = 180s;  // beyond the leases of what a kill left fired or released
inline constexpr int kEvents = 500;
inline constexpr std::size_t kPartitions = 4;
inline constexpr std::size_t kOutstanding = 500;

/// Workers on one loop, what they delivered and what they released.
class RedisDripEndToEnd : public ::testing::Test, public drip::Observer {
 protected:
  /// One that is told again by who comes after a kill, with the same moment, is the same release.
  void on_release(const core::Stream&, std::string_view key, std::string_view id, WallTime released,
                  Duration) override {
    if (!told_.insert({std::string(id), released}).second) return;
    const auto second = std::chrono::floor<std::chrono::seconds>(released).time_since_epoch().count();
    ++by_second_[{std::string(key), second}];
  }
  void on_dead_letter(const core::Stream&, std::string_view, std::string_view reason) override {
    if (!letters_expected_) ADD_FAILURE() << "a dead letter: " << reason;
    ++letters_;
  }
  void on_port_error(const core::Stream&, std::string_view, const Error&) override { ++refused_; }

  std::unique_ptr<RedisDrip> worker(const redis::Options& redis, const std::string& name) {
    return std::make_unique<RedisDrip>(
        loop_,
        RedisDripOptions{.redis = redis,
                         .consumer = name,
                         .partitions = kPartitions,
                         .stream = stream_,
                         .flow = {.max_outstanding_messages = kOutstanding},
                         .on_delivery =
                             [this](const broker::Outgoing& outgoing) {
                               ++arrived_[*broker::find(outgoing.message.attributes, "dripgate-id")];
                             },
                         .answers = answers_},
        *this);
  }
  /// Events "e0", "e1", ... over as many keys, in turn.
  void publish(RedisDrip& through, int events = kEvents, int keys = 1) {
    int published = 0;
    for (int i = 0; i < events; ++i)
      publish_one(through, "e" + std::to_string(i), "k" + std::to_string(i % keys), [&] { ++published; });
    ASSERT_TRUE(until([&] { return published == events; })) << published;
  }
  static void publish_one(
      RedisDrip& through, const std::string& id, const std::string& key, std::function<void()> done = [] {}) {
    through.ingest().publish({.id = id,
                              .body = R"({"id":")" + id + R"(","key":")" + key + R"(","amount":2500.00})",
                              .attributes = {},
                              .published = {}},
                             [done = std::move(done)](const Result<void>& published) {
                               EXPECT_TRUE(published);
                               done();
                             });
  }
  template <class Holds>
  bool until(Holds holds) {
    for (Duration waited{0}; waited < kPatience && !holds(); waited += 10ms) loop_.run_for(10ms);
    return holds();
  }
  /// Over the partitions: `word` of each key.
  static std::size_t count(const RedisServer& redis, const char* word,
                           std::string (*key)(std::string_view, std::string_view), const char* of) {
    std::size_t all = 0;
    for (std::size_t i = 0; i < kPartitions; ++i)
      all += std::stoul(redis.ask({word, key("", rs::partition_tag(of, i))}));
    return all;
  }
  /// All arrived, the windows held, and nothing is left in any topic or timer. `ask` finds the key's node.
  void expect_all(const std::function<std::string(const std::string&, const std::string&)>& ask,
                  std::size_t events = kEvents) {
    ASSERT_TRUE(until([&] { return arrived_.size() == events; })) << arrived_.size();
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
    expect_windows();
  }
  void expect_windows() {
    const core::Units limit = stream_->booking->limits[0].limit;
    for (const auto& [window, count] : by_second_) EXPECT_LE(count, limit) << window.first << window.second;
  }

  net::IoLoop loop_;
  core::StreamPtr stream_ = redis_drip_stream(kLimit, 1s);
  SinkAnswers answers_;  // of the sink; none: it confirms
  std::map<std::string, int> arrived_;
  std::set<std::pair<std::string, WallTime>> told_;
  std::map<std::pair<std::string, std::int64_t>, int> by_second_;  // by key and second
  bool letters_expected_ = false;
  int refused_ = 0;  // calls of a port that failed
  int letters_ = 0;
};

}  // namespace dripgate::testing
