// serve, workers, dispatchers and a consumer as processes of their own on one real Redis, killed at random,
// Redis itself included: every id reaches the sink, no second holds more than the limit by release time.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "integration/processes.h"
#include "support/redis/redis_server.h"

namespace dripgate::integration {
namespace {

constexpr int kKills = 12;
constexpr int kEvents = 1500;
constexpr int kKeys = 5;
constexpr std::size_t kPerSecond = 50;
// An event that was let go right before a kill waits for its release lease (60 s).
constexpr std::chrono::milliseconds kAllDelivered{240'000};

class RedisParts : public ::testing::Test {
 protected:
  static StreamPlan plan(const testing::RedisServer& redis) {
    return {.limits = "[ { rps: " + std::to_string(kPerSecond) + " } ]",
            .store = "{ redis: { url: \"redis://" + redis.address() + "\" } }",
            .source = "redis",
            .verb = "serve"};
  }
  std::unique_ptr<Process> part(const std::string& verb) {
    return std::make_unique<Process>(std::vector<std::string>{verb, "-c", processes.config()},
                                     processes.folder.path(verb + std::to_string(++parts_)));
  }

  // Every write on the disk before its answer: what a drip that lives in Redis asks for.
  testing::RedisServer redis{{.lines = {"appendonly yes", "appendfsync always"}}};
  Processes processes{plan(redis)};

 private:
  int parts_ = 0;
};

TEST_F(RedisParts, LoseNothingAndExceedNothingWhateverIsKilled) {
  std::random_device entropy;
  const char* asked = std::getenv("DRIPGATE_KILL_SEED");
  const unsigned seed = asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : entropy();
  SCOPED_TRACE("DRIPGATE_KILL_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  ASSERT_TRUE(processes.start()) << processes.up_log();
  const std::vector<std::string> verbs{"worker", "worker", "dispatch", "dispatch", "consume"};
  std::vector<std::unique_ptr<Process>> parts;
  for (const std::string& verb : verbs) parts.push_back(part(verb));
  write_file(processes.folder.path("events.ndjson"), payout_lines("p", kEvents, kKeys));
  Process publisher({"publish", "payouts", processes.folder.path("events.ndjson"), "--url", processes.url(),
                     "--batch", "50", "--concurrency", "2", "--retries", "100", "--json"},
                    processes.folder.path("publish"));
  for (int i = 0; i < kKills; ++i) {
    let_pass(std::chrono::milliseconds{std::uniform_int_distribution<int>(50, 400)(random)});
    const std::size_t victim = random() % parts.size();
    parts[victim]->kill_hard();
    parts[victim] = part(verbs[victim]);
    if (i != kKills / 2) continue;
    redis.kill();
    redis.restart();
  }
  ASSERT_EQ(publisher.exit_code(), 0) << publisher.out() << publisher.err();
  EXPECT_TRUE(eventually([&] { return processes.confirmed_ids().size() == kEvents; }, kAllDelivered))
      << processes.confirmed_ids().size() << " of " << kEvents;
  EXPECT_LE(fullest_second(processes.sink_lines()), kPerSecond);
  const Finished letters = processes.ask({"dlq", "list", "payouts"});
  EXPECT_NE(letters.out.find("0 of 0"), std::string::npos) << letters.out;
}

TEST_F(RedisParts, ServeAnswersAcceptedAndSaysWhenRedisIsAway) {
  ASSERT_TRUE(processes.start()) << processes.up_log();
  const Finished first = processes.publish(payout_lines("a", 3, 1));
  EXPECT_EQ(first.code, 0) << first.out << first.err;
  EXPECT_NE((first.out + first.err).find("\"accepted\":3"), std::string::npos) << first.out << first.err;
  redis.kill();
  const Finished down = processes.publish(payout_lines("b", 1, 1), {"--retries", "1"});
  EXPECT_NE(down.code, 0) << down.out << down.err;
  redis.restart();
  const auto worker = part("worker");
  EXPECT_TRUE(eventually([&] { return processes.confirmed_ids().size() >= 3; })) << processes.up_log();
  EXPECT_EQ(processes.publish(payout_lines("b", 1, 1), {"--retries", "100"}).code, 0);
  EXPECT_TRUE(eventually([&] { return processes.confirmed_ids().contains("b1"); }));
}

TEST(Parts, NeedAStoreThatProcessesShare) {
  Processes processes({.verb = "worker"});
  EXPECT_FALSE(processes.start());
  EXPECT_NE(processes.up_log().find("store: { redis: ... }"), std::string::npos) << processes.up_log();
}

}  // namespace
}  // namespace dripgate::integration
