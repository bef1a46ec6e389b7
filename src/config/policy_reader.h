// Policy reader: one item of `policies` as core::Policy, and what a set of policies must hold together.
// Called by load.cc. Pure.
#pragma once

#include <vector>

#include "config/context.h"
#include "config/yaml_tree.h"
#include "core/policy.h"

namespace dripgate::config {

inline constexpr std::size_t kPoliciesMax = 5'000;

struct PlacedPolicy {
  core::PolicyPtr policy;
  Mark at;
};

/// All policies that read well; the others are in the report. `scope`: the file's default, may be empty.
[[nodiscard]] std::vector<PlacedPolicy> read_policies(const Node& list, const std::string& scope,
                                                      Context& context);

}  // namespace dripgate::config
