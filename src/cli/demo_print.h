// What the demo says: before, the table after, what to try next. Prints only what was counted.
#pragma once

#include <cstdint>
#include <string>

#include "cli/demo_tally.h"

namespace dripgate::cli {

/// Minutes are those of the clock of the run.
[[nodiscard]] std::string demo_table(const DemoTally& tally);
/// Late, dead-lettered, lost, exceeded: one line each.
[[nodiscard]] std::string demo_sums(const DemoTally& tally, std::uint64_t published);
[[nodiscard]] std::string demo_next_steps();

}  // namespace dripgate::cli
