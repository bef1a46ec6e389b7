// What `dripgate bench store` prints. Pure.
#pragma once

#include <string>

#include "capacity/bench.h"

namespace dripgate::cli {

/// For people: a paragraph per question.
[[nodiscard]] std::string bench_text(const capacity::BenchResult& result, const capacity::Load& load,
                                     Duration late);
/// For programs: times in microseconds, rates per second.
[[nodiscard]] std::string bench_json(const capacity::BenchResult& result, const capacity::Load& load,
                                     Duration late);

}  // namespace dripgate::cli
