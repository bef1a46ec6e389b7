// The simulation: `sim --seeds=K` plays seeds 1..K, `sim --seed=N` replays one and says what happens in it.
// Without a flag (ctest) a hundred. Even seeds run on the memory store, odd ones on the embedded file.
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

TEST(Simulation, EveryHistoryKeepsEveryPromise) {
  int failed = 0;
  std::uint64_t tasks = 0;
  std::uint64_t kills = 0;
  for (std::uint64_t seed = g_first; seed <= g_last && failed < kFailuresShown; ++seed) {
    const Outcome outcome = play(seed, g_verbose);
    tasks += outcome.tasks;
    kills += static_cast<std::uint64_t>(outcome.kills);
    if (outcome.faults.empty()) continue;
    ++failed;
    std::string text;
    for (const std::string& fault : outcome.faults) text += "\n  " + fault;
    ADD_FAILURE() << "seed " << seed << (outcome.sqlite ? " (embedded file)" : " (memory)") << ":" << text
                  << "\n  replay: ./dev sim --seed " << seed;
  }
  std::printf("%llu histories, %llu tasks, %llu kills\n",
              static_cast<unsigned long long>(g_last - g_first + 1), static_cast<unsigned long long>(tasks),
              static_cast<unsigned long long>(kills));
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
