// History: one seed played to its end, and what was wrong with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dripgate::sim {

struct Outcome {
  std::vector<std::string> faults;  // empty: every promise was kept
  std::uint64_t tasks = 0;
  int kills = 0;
  bool sqlite = false;
};

[[nodiscard]] Outcome play(std::uint64_t seed, bool verbose = false);

}  // namespace dripgate::sim
