// The drip on Redis when the bookings are gone, may not be written, or one key has more than its horizon
// takes.
#include <algorithm>
#include <sstream>

#include "integration_redis/drip_fixture.h"

namespace dripgate::testing {
namespace {

/// All that the booking store has; the topics, timers and dead letters of the same server begin with a
/// letter.
std::vector<std::string> booking_keys(const RedisServer& redis) {
  std::vector<std::string> names;
  std::istringstream all(redis.ask({"KEYS", "{*"}));
  for (std::string name; std::getline(all, name);) names.push_back(name);
  return names;
}

TEST_F(RedisDripEndToEnd, BookingsThatAreLostWithEventsWaitingLoseNoEventAndExceedNoWindow) {
  constexpr int kKeys = 10, kPerSecond = 50, kWaiting = 3000;
  stream_ = redis_drip_stream(kPerSecond, 1s);
  RedisServer redis({.lines = {"appendonly yes", "appendfsync always"}});
  auto one = worker(redis_at(redis.port()), "one");
  auto two = worker(redis_at(redis.port()), "two");
  publish(*one, kWaiting, kKeys);
  // Everything is booked; of the running second everything planned has gone.
  ASSERT_TRUE(until([&] { return count(redis, "XLEN", &rs::stream_key, "in") == 0; }));
  ASSERT_TRUE(until([&] {
    const auto second =
        std::chrono::floor<std::chrono::seconds>(SteadyClock{}.now()).time_since_epoch().count();
    return std::ranges::count_if(by_second_, [&](const auto& window) {
             return window.first.second == second && window.second == kPerSecond;
           }) == kKeys;
  }));
  const std::size_t waiting = count(redis, "ZCARD", &rs::due_key, "s");
  std::vector<std::string> lost{"DEL"};
  for (std::string& name : booking_keys(redis)) lost.push_back(std::move(name));
  ASSERT_GT(lost.size(), std::size_t{kKeys});
  ASSERT_EQ(redis.ask(lost), std::to_string(lost.size() - 1));
  EXPECT_GT(waiting, 0u) << "nothing was waiting any more";
  expect_all([&](const std::string& word, const std::string& key) { return redis.ask({word, key}); },
             kWaiting);
  for (const auto& [id, times] : arrived_) EXPECT_EQ(times, 1) << id;
}

TEST_F(RedisDripEndToEnd, AUserThatMayNotBookForAWhileIsAnOutageAndNoDeadLetter) {
  RedisServer redis({.lines = {"appendonly yes", "appendfsync always"}});
  auto one = worker(redis_at(redis.port()), "one");
  publish(*one, 50);
  ASSERT_TRUE(until([&] { return arrived_.size() == 50; }));
  ASSERT_EQ(
      redis.ask({"ACL", "SETUSER", "default", "resetkeys", "~s:*", "~i:*", "~due:*", "~entry:*", "~dead*"}),
      "OK");
  publish(*one, kEvents);
  ASSERT_TRUE(until([&] { return refused_ > 0; }));
  EXPECT_EQ(arrived_.size(), 50u);
  ASSERT_EQ(redis.ask({"ACL", "SETUSER", "default", "allkeys"}), "OK");
  expect_all([&](const std::string& word, const std::string& key) { return redis.ask({word, key}); });
}

TEST_F(RedisDripEndToEnd, AKeyWithFarMoreThanItsHorizonTakesHoldsUpNoOther) {  // G3
  constexpr int kOfA = 2000;
  stream_ = redis_drip_stream(1, 60s);  // the horizon is 24 h
  letters_expected_ = true;
  RedisServer redis({.lines = {"appendonly yes", "appendfsync always"}});
  auto one = worker(redis_at(redis.port()), "one");
  publish(*one, kOfA);
  publish_one(*one, "b", "another");
  ASSERT_TRUE(until([&] {
    std::size_t pending = 0;
    for (std::size_t i = 0; i < kPartitions; ++i) {
      const auto said = redis.ask({"XPENDING", rs::stream_key("", rs::partition_tag("in", i)), "dripgate"});
      if (!said.starts_with("-")) pending += std::stoul(said);
    }
    EXPECT_LE(pending, kOutstanding);
    return arrived_.contains("b");
  }));
  ASSERT_TRUE(until([&] { return count(redis, "XLEN", &rs::stream_key, "in") == 0; }));
  // One went at once, 1,440 wait for a minute of their own; a minute may have ended meanwhile.
  EXPECT_LE(by_second_.size(), 4u);
  EXPECT_NEAR(static_cast<double>(count(redis, "ZCARD", &rs::due_key, "s")), 1440, 3);
  EXPECT_NEAR(letters_, kOfA - 1 - 1440, 3);
}

class RedisDripSink : public RedisDripEndToEnd {
 protected:
  static constexpr int kAttempts = 3;

  RedisDripSink() {
    auto stream = std::make_shared<core::Stream>(*stream_);
    stream->max_attempts = kAttempts;
    stream_ = std::move(stream);
  }
  std::vector<broker::DeadLetter> letters(RedisDrip& of) {
    std::optional<std::vector<broker::DeadLetter>> found;
    of.dead_letters().list(0, 10, [&](Result<broker::DeadLetterPage> page) {
      EXPECT_TRUE(page);
      found = page ? std::move(page->letters) : std::vector<broker::DeadLetter>{};
    });
    EXPECT_TRUE(until([&] { return found.has_value(); }));
    return found.value_or(std::vector<broker::DeadLetter>{});
  }

  RedisServer redis{{.lines = {"appendonly yes", "appendfsync always"}}};
};

TEST_F(RedisDripSink, BeingRateLimitedIsNoFailedAttempt) {  // G12
  constexpr int kDeferrals = kAttempts + 1;
  answers_ = [this](const broker::Outgoing&) {
    if (arrived_["e"] > kDeferrals) return broker::SinkAnswer{};
    return broker::SinkAnswer{broker::SinkVerdict::rate_limited, 10ms, "HTTP 429"};
  };
  auto one = worker(redis_at(redis.port()), "one");
  publish_one(*one, "e", "k");
  ASSERT_TRUE(until([&] { return arrived_["e"] == kDeferrals + 1; })) << arrived_["e"];
  EXPECT_TRUE(letters(*one).empty());
}

TEST_F(RedisDripSink, PoisonIsADeadLetterAtOnceARefusalAfterOneAttemptAFailureAfterAll) {  // G9
  letters_expected_ = true;
  answers_ = [](const broker::Outgoing& outgoing) {
    const bool refuses = *broker::find(outgoing.message.attributes, "dripgate-id") == "refused";
    return refuses ? broker::SinkAnswer{broker::SinkVerdict::refused, {}, "HTTP 400"}
                   : broker::SinkAnswer{broker::SinkVerdict::failed, {}, "HTTP 503"};
  };
  auto one = worker(redis_at(redis.port()), "one");
  publish_one(*one, "refused", "k");
  publish_one(*one, "failed", "k");
  const std::string poison("no json \0\xff", 10);
  one->ingest().publish({.id = "poison", .body = poison, .attributes = {}, .published = {}},
                        [](const Result<void>& done) { EXPECT_TRUE(done); });
  ASSERT_TRUE(until([&] { return letters_ == 3; })) << letters_;
  EXPECT_EQ(arrived_, (std::map<std::string, int>{{"refused", 1}, {"failed", kAttempts}}));
  std::map<int, std::string> by_attempts;
  for (const broker::DeadLetter& letter : letters(*one)) by_attempts[letter.attempts] = letter.message.body;
  EXPECT_EQ(by_attempts.size(), 3u);
  EXPECT_EQ(by_attempts[0], poison);
  EXPECT_NE(by_attempts[1].find("refused"), std::string::npos);
  EXPECT_NE(by_attempts[kAttempts].find("failed"), std::string::npos);
}

}  // namespace
}  // namespace dripgate::testing
