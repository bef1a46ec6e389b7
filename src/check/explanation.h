// Explanation: why a request is decided as it is. For `dripgate explain` and /v1/explain.
#pragma once

#include <string>
#include <vector>

#include "check/answer.h"

namespace dripgate::check {

/// A policy that does not match, and the first condition that fails.
struct Mismatch {
  const core::Policy* policy = nullptr;
  std::string name;                   // of the condition
  std::vector<std::string> accepted;  // its patterns; those of a secret as its values are shown
};

struct Explanation {
  Answer answer;  // as a peek says: keys, limits and what is left
  std::vector<Mismatch> others;
};

/// Every policy that does not match, in file order. Pure.
[[nodiscard]] std::vector<Mismatch> mismatches(const config::Config& config,
                                               const core::Descriptor& descriptor);

}  // namespace dripgate::check
