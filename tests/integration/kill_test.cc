// kill -9 of `dripgate up` at random moments while events are published with ids and retries: every id
// reaches the sink, no second holds more than the limit by release time, a repeated delivery carries its id.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "integration/processes.h"

namespace dripgate::integration {
namespace {

constexpr int kKills = 20;
constexpr int kEvents = 3000;
constexpr int kKeys = 5;
constexpr std::size_t kPerSecond = 50;
// An event that was let go right before a kill waits for its release lease (60 s).
constexpr std::chrono::milliseconds kAllDelivered{240'000};

TEST(Kill, LosesNothingAndExceedsNothing) {
  std::random_device entropy;
  const char* asked = std::getenv("DRIPGATE_KILL_SEED");
  const unsigned seed = asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : entropy();
  SCOPED_TRACE("DRIPGATE_KILL_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  Processes processes({.limits = "[ { rps: " + std::to_string(kPerSecond) + " } ]"});
  ASSERT_TRUE(processes.start()) << processes.up_log();
  write_file(processes.folder.path("events.ndjson"), payout_lines("p", kEvents, kKeys));
  Process publisher({"publish", "payouts", processes.folder.path("events.ndjson"), "--url", processes.url(),
                     "--batch", "50", "--concurrency", "2", "--retries", "100", "--json"},
                    processes.folder.path("publish"));
  for (int i = 0; i < kKills; ++i) {
    let_pass(std::chrono::milliseconds{std::uniform_int_distribution<int>(1, 400)(random)});
    processes.up().kill_hard();
    ASSERT_TRUE(processes.start_up()) << processes.up_log();
  }
  ASSERT_EQ(publisher.exit_code(), 0) << publisher.out() << publisher.err();
  EXPECT_NE(publisher.out().find("\"failed\":0"), std::string::npos) << publisher.out();
  EXPECT_TRUE(eventually([&] { return processes.confirmed_ids().size() == kEvents; }, kAllDelivered))
      << processes.confirmed_ids().size() << " of " << kEvents;
  const auto lines = processes.sink_lines();
  EXPECT_LE(fullest_second(lines), kPerSecond);
  for (const std::string& id : processes.confirmed_ids()) {
    ASSERT_TRUE(id.starts_with("p")) << id;
  }
  const Finished letters = processes.ask({"dlq", "list", "payouts"});
  EXPECT_NE(letters.out.find("0 of 0"), std::string::npos) << letters.out;
}

}  // namespace
}  // namespace dripgate::integration
