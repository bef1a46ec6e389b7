// The simulation: `sim --seeds=K` plays seeds 1..K, `sim --seed=N` replays one and says what happens in it.
// Without a flag (ctest) a hundred. Even seeds run on the memory store, every other of
// them with its timer on Cloud Tasks; odd ones on the embedded file.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

#include "sim/history.h"

namespace dripgate::sim {
namespace {

std::uint64_t g_first = 1;
std::uint64_t g_last = 100;
bool g_verbose = false;
constexpr int kFailuresShown = 3;
constexpr std::uint64_t kTasksLeast = 50;         // of a history, on average
constexpr std::uint64_t kHistoriesThatTell = 20;  // so many of them surely hold what is asked for below

TEST(Simulation, EveryHistoryKeepsEveryPromise) {
  int failed = 0;
  std::uint64_t tasks = 0;
  std::uint64_t kills = 0;
  std::uint64_t on_file = 0;
  std::uint64_t played = 0;
  for (std::uint64_t seed = g_first; seed <= g_last && failed < kFailuresShown; ++seed) {
    const Outcome outcome = play(seed, g_verbose);
    tasks += outcome.tasks;
    kills += static_cast<std::uint64_t>(outcome.kills);
    on_file += outcome.sqlite ? 1 : 0;
    ++played;
    if (outcome.faults.empty()) continue;
    ++failed;
    std::string text;
    for (const std::string& fault : outcome.faults) text += "\n  " + fault;
    ADD_FAILURE() << "seed " << seed << (outcome.sqlite ? " (embedded file)" : " (memory)") << ":" << text
                  << "\n  replay: ./dev sim --seed " << seed;
  }
  std::printf("%llu histories, %llu tasks, %llu kills\n", static_cast<unsigned long long>(played),
              static_cast<unsigned long long>(tasks), static_cast<unsigned long long>(kills));
  // A simulation in which nothing happens keeps every promise: it must not pass for one that does.
  ASSERT_GT(played, 0u) << "no seed was asked for";
  if (played < kHistoriesThatTell) return;
  EXPECT_GT(tasks, played * kTasksLeast) << "histories in which hardly anything happens";
  EXPECT_GT(kills, played / 4) << "hardly any process was killed";
  EXPECT_GT(on_file, 0u) << "no history on the embedded file";
  EXPECT_LT(on_file, played) << "no history on the memory store";
}

/// The rest of the argument after `name`, as a number.
bool take(std::string_view argument, std::string_view name, std::uint64_t& number) {
  if (!argument.starts_with(name)) return false;
  number = std::strtoull(argument.substr(name.size()).data(), nullptr, 10);
  return true;
}

}  // namespace
}  // namespace dripgate::sim

int main(int argc, char** argv) {
  using namespace dripgate::sim;
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    std::uint64_t number = 0;
    if (take(argv[i], "--seeds=", number)) {
      g_last = number;
    } else if (take(argv[i], "--seed=", number)) {
      g_first = g_last = number;
      g_verbose = true;
    } else {
      std::fprintf(stderr, "sim: unknown argument '%s'; accepted: --seeds=K, --seed=N\n", argv[i]);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
