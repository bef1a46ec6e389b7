// What only the CounterStore on Redis has: requests that travel together, and texts of another format.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "conformance/limits.h"
#include "net/io_loop_impl.h"
#include "redis/make_client.h"
#include "store/memory/stores.h"
#include "store/redis/stores.h"
#include "support/redis/redis_server.h"
#include "support/virtual_time.h"

namespace dripgate::testing {
namespace {

constexpr Duration kPatience = 10s;
constexpr Duration kDay = std::chrono::hours{24};

/// A store with a client and a loop of its own.
struct Store {
  explicit Store(std::uint16_t port) {
    redis::Options options;
    options.nodes = {{.host = "127.0.0.1", .port = port}};
    options.timeout = kPatience;
    client = redis::make_client(loop, std::move(options)).value();
    counters = store::make_redis_counter_store(*client);
  }
  void run_one() {
    loop.impl()->context.restart();
    loop.impl()->context.run_one_for(kPatience);
  }

  net::IoLoop loop;
  std::unique_ptr<redis::Client> client;
  std::unique_ptr<store::CounterStore> counters;
};

std::string words(const Result<core::Decision>& decision) {
  if (!decision) return to_string(decision.error().code);
  std::string text = std::to_string(to_us(decision->now));
  for (const core::LimitOutcome& outcome : decision->outcomes)
    text += " " + std::to_string(static_cast<int>(outcome.verdict)) + "/" +
            std::to_string(outcome.remaining) + "/" + std::to_string(outcome.reset_after.count()) + "/" +
            std::to_string(outcome.retry_after.value_or(Duration{-1}).count());
  return text;
}

/// Of a random moment: one of a few keys, each under one limit that now and then changes.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t end) { return random_() % end; }
  store::Charge charge() {
    const std::size_t key = below(limits_.size());
    if (below(200) == 0) limits_[key] = fresh(key);
    const core::Units costs[]{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, limits_[key].max_cost() + 1};
    return {.key = "k" + std::to_string(key), .limit = limits_[key], .cost = costs[below(std::size(costs))]};
  }

 private:
  core::Limit fresh(std::size_t key) {
    const auto some = static_cast<core::Units>(1 + below(8));
    switch (key % 4) {
      case 0:
        return per(some, 1s);
      case 1:
        return log_of(some, 1s);
      case 2:
        return bucket(7, 9s, some);
      default:
        return bucket(20, 1s, some);
    }
  }

  std::mt19937 random_;
  std::vector<core::Limit> limits_{per(5, 1s),        log_of(4, 1s),    bucket(7, 9s, 5),   bucket(20, 1s, 6),
                                   bucket(20, 1s, 3), bucket(4, 1s, 2), bucket(100, 60s, 5)};
};

TEST(RedisCounters, RequestsThatTravelTogetherGetTheAnswersOfOneAfterTheOther) {
  SteeredClock clock;
  const RedisServer server{{.clock = &clock}};
  Store redis(server.port());
  VirtualClock plain;
  const auto memory = store::make_memory_counter_store(plain);
  Dice dice(4711);
  clock.set(plain.now());
  int allowed = 0, denied = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> expected, got;
    std::size_t answered = 0;
    const std::size_t together = 1 + dice.below(60);
    got.resize(together);
    for (std::size_t i = 0; i < together; ++i) {
      const store::Charge charge = dice.charge();
      memory->consume({charge}, [&](const Result<core::Decision>& decision) {
        expected.push_back(words(decision));
        (decision->verdict == core::Verdict::allow ? allowed : denied)++;
      });
      redis.counters->consume({charge}, [&, i](const Result<core::Decision>& decision) {
        got[i] = words(decision);
        ++answered;
      });
    }
    while (answered < together) redis.run_one();
    ASSERT_EQ(got, expected) << "round " << round;
    plain.advance(Duration{static_cast<std::int64_t>(dice.below(400'000))});
    clock.set(plain.now());
  }
  EXPECT_GT(allowed, 1000);
  EXPECT_GT(denied, 1000);
  // The requests of a round were a few calls: far fewer scripts ran than there were requests.
  const std::string stats = server.ask({"INFO", "commandstats"});
  const std::size_t calls = stats.find("cmdstat_evalsha:calls=");
  ASSERT_NE(calls, std::string::npos);
  EXPECT_LT(std::stoi(stats.substr(calls + 22)), (allowed + denied) / 2);
}

/// What a reload leaves behind: a bucket that stands in Redis in spelt numbers is asked under common ones.
TEST(RedisCounters, ABucketInSpeltNumbersIsTakenOverByAnyRequestUnderCommonOnes) {
  SteeredClock clock;
  const RedisServer server{{.clock = &clock}};
  Store redis(server.port());
  VirtualClock plain;
  const auto memory = store::make_memory_counter_store(plain);
  clock.set(plain.now());
  std::vector<std::string> expected, got;
  const auto ask = [&](const std::vector<store::Charges>& together) {
    const std::size_t end = got.size() + together.size();
    for (const store::Charges& charges : together) {
      memory->consume(charges,
                      [&](const Result<core::Decision>& answer) { expected.push_back(words(answer)); });
      redis.counters->consume(charges,
                              [&](const Result<core::Decision>& answer) { got.push_back(words(answer)); });
    }
    while (got.size() < end) redis.run_one();
    EXPECT_EQ(got.back(), expected.back());
  };
  const core::Limit spelt = bucket(7, 9s, 5), common = bucket(20, 1s, 3), other = bucket(100, 60s, 5);
  const auto charge = [](const char* key, const core::Limit& limit) {
    return store::Charge{.key = key, .limit = limit};
  };
  for (const char* key : {"a", "b", "c"}) ask({{charge(key, spelt)}});
  ask({{charge("x", common), charge("a", common)}});                      // a pair
  ask({{charge("x", common), charge("b", common), charge("y", other)}});  // one request of many
  ask({{charge("z", other)}, {charge("c", common)}});                     // requests that travel together
  EXPECT_EQ(got, expected);
  EXPECT_NE(server.ask({"GET", "c"}), "(nil)");
}

TEST(RedisCounters, ATextOfAnotherFormatIsAnErrorAndStaysAsItIs) {
  const RedisServer server;
  Store store(server.port());
  const core::Limit limits[]{per(5, 60s), log_of(5, 60s), bucket(7, 90s, 5), bucket(100, 60s, 20)};
  for (const core::Limit& limit : limits) {
    ASSERT_EQ(server.ask({"SET", "k", "2bfuture"}), "OK");
    std::string consumed, given;
    store.counters->consume({{.key = "k", .limit = limit}},
                            [&](const Result<core::Decision>& decision) { consumed = words(decision); });
    store.counters->refund(
        {.charges = {{.key = "k", .limit = limit}}, .consumed_at = kT0 + 1000 * kDay, .request_id = "r"},
        [&](const Result<bool>& answer) { given = answer ? "answered" : to_string(answer.error().code); });
    while (consumed.empty() || given.empty()) store.run_one();
    EXPECT_EQ(consumed, "newer_version");
    EXPECT_EQ(given, "newer_version");
    EXPECT_EQ(server.ask({"GET", "k"}), "2bfuture");
  }
}

TEST(RedisCounters, PodsOfTwoVersionsSideBySideAdmitNoMoreThanTheLimit) {
  constexpr int kLimit = 10, kBefore = 4;
  const RedisServer server;
  Store store(server.port());
  const core::Limit limits[]{per(kLimit, 1000 * kDay), log_of(kLimit, kDay), bucket(1, kDay, kLimit),
                             bucket(3, 7 * kDay, kLimit)};
  for (std::size_t i = 0; i < std::size(limits); ++i) {
    SCOPED_TRACE("limit " + std::to_string(i));
    const std::string key = "k" + std::to_string(i);
    std::map<std::string, int> answers;
    const auto ask = [&](int times) {
      answers.clear();
      int answered = 0;
      for (int n = 0; n < times; ++n)
        store.counters->consume({{.key = key, .limit = limits[i]}}, [&](const Result<core::Decision>& got) {
          ++answered;
          ++answers[!got                                   ? to_string(got.error().code)
                    : got->verdict == core::Verdict::allow ? "allow"
                                                           : "deny"];
        });
      while (answered < times) store.run_one();
      return answers;
    };
    using Answers = std::map<std::string, int>;
    EXPECT_EQ(ask(kBefore), (Answers{{"allow", kBefore}}));
    // The next version took the key over and wrote it in its own way.
    const std::string ours = server.ask({"GET", key});
    const std::string theirs = "2n" + ours;  // a bare number is ours for ever
    ASSERT_EQ(server.ask({"SET", key, theirs, "KEEPTTL"}), "OK");
    EXPECT_EQ(ask(3 * kLimit), (Answers{{"newer_version", 3 * kLimit}}));
    EXPECT_EQ(server.ask({"GET", key}), theirs);
    // It was rolled back, and what it left is in our form again.
    ASSERT_EQ(server.ask({"SET", key, ours, "KEEPTTL"}), "OK");
    EXPECT_EQ(ask(3 * kLimit), (Answers{{"allow", kLimit - kBefore}, {"deny", 2 * kLimit + kBefore}}));
  }
}

TEST(RedisCounters, EveryKeyOfEveryKindLivesNoLongerThanItMatters) {
  const RedisServer server;
  Store store(server.port());
  const core::Limit limits[]{per(5, 60s), log_of(5, 60s), bucket(7, 90s, 5), bucket(100, 60s, 20)};
  for (std::size_t i = 0; i < std::size(limits); ++i) {
    const std::string key = "k" + std::to_string(i);
    bool answered = false;
    store.counters->consume({{.key = key, .limit = limits[i]}}, [&](const auto&) { answered = true; });
    while (!answered) store.run_one();
    const int lives = std::stoi(server.ask({"PTTL", key}));
    EXPECT_GT(lives, 0) << i;
    EXPECT_LE(lives, 90'001) << i;
  }
}

}  // namespace
}  // namespace dripgate::testing
