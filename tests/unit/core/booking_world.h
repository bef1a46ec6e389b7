// A random history of one key: bursts, costs, late / early / repeated / lost timers, lost answers, crashes
// before settling, retries, reloads, freezes, slots given back, a clock that steps back, an emptied store.
// After every call it checks what must always hold, and at the end that everything came to an end.
#pragma once

#include <cstdint>
#include <string>

namespace dripgate::testing {

enum class Trouble { clean, late, crashes, reloads, freezes, given_back, clock, lost, emptied, everything };
inline constexpr int kTroubles = 10;

struct WorldReport {
  std::string failure;  // empty: nothing was violated
  int calls = 0;
  int releases = 0;
  int moves = 0;
  int most_moves = 0;  // of one event
  int beyond = 0;
};

[[nodiscard]] WorldReport run_random_history(std::uint64_t seed, Trouble trouble);

}  // namespace dripgate::testing
