// The drip on Redis end to end: bookings, topics, timer and dead letters in one real server, in real time.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "broker/redis_streams/keys.h"
#include "support/redis/redis_server.h"
#include "support/redis_drip.h"

namespace dripgate::testing {
namespace {

constexpr core::Units kLimit = 100;
constexpr Duration kPatience = 60s;
constexpr int kEvents = 500;

class Releases final : public drip::Observer {
 public:
  void on_release(const core::Stream&, std::string_view, std::string_view, WallTime released,
                  Duration) override {
    ++by_second[std::chrono::floor<std::chrono::seconds>(released).time_since_epoch().count()];
  }
  void on_dead_letter(const core::Stream&, std::string_view, std::string_view reason) override {
    letters.emplace_back(reason);
  }
  std::map<std::int64_t, int> by_second;
  std::vector<std::string> letters;
};

TEST(RedisDripEndToEnd, FiveHundredEventsUnderALimitArriveOnceEachAndNoWindowIsExceeded) {
  RedisServer redis({.lines = {"appendonly yes", "appendfsync always"}});
  net::IoLoop loop;
  Releases releases;
  std::map<std::string, int> arrived;
  RedisDrip drip(loop,
                 {.port = redis.port(),
                  .partitions = 2,
                  .stream = redis_drip_stream(kLimit, 1s),
                  .on_delivery =
                      [&](const broker::Outgoing& outgoing) {
                        ++arrived[*broker::find(outgoing.message.attributes, "dripgate-id")];
                      }},
                 releases);
  int published = 0;
  for (int i = 0; i < kEvents; ++i) {
    const std::string id = "e" + std::to_string(i);
    drip.ingest().publish({.id = id,
                           .body = R"({"id":")" + id + R"(","key":"k","amount":2500.00})",
                           .attributes = {},
                           .published = {}},
                          [&](Result<void> done) { published += done.has_value() ? 1 : 0; });
  }
  const auto until = [&](const auto& holds) {
    for (Duration waited{0}; waited < kPatience && !holds(); waited += 10ms) loop.run_for(10ms);
    return holds();
  };
  ASSERT_TRUE(until([&] { return arrived.size() == kEvents; })) << arrived.size() << " of " << published;
  EXPECT_EQ(published, kEvents);
  const auto empty = [&] {
    for (std::size_t i = 0; i < 2; ++i) {
      namespace rs = broker::redis_streams;
      if (redis.ask({"XLEN", rs::stream_key("", rs::partition_tag("in", i))}) != "0") return false;
      if (redis.ask({"XLEN", rs::stream_key("", rs::partition_tag("over", i))}) != "0") return false;
      if (redis.ask({"ZCARD", rs::due_key("", rs::partition_tag("s", i))}) != "0") return false;
      if (redis.ask({"HLEN", rs::payload_key("", rs::partition_tag("s", i))}) != "0") return false;
    }
    return true;
  };
  EXPECT_TRUE(until(empty)) << "something is left pending";
  for (const auto& [id, times] : arrived) EXPECT_EQ(times, 1) << id;
  int released = 0;
  for (const auto& [second, count] : releases.by_second) {
    EXPECT_LE(count, kLimit) << second;
    released += count;
  }
  EXPECT_EQ(released, kEvents);
  EXPECT_TRUE(releases.letters.empty());
}

}  // namespace
}  // namespace dripgate::testing
