// Override reader: `overrides` of a policy, and the choice between limits and `unlimited: true` that a
// policy and an override share. Called by the policy reader. Pure.
#pragma once

#include <vector>

#include "config/context.h"
#include "config/fields.h"
#include "core/policy.h"

namespace dripgate::config {

inline constexpr std::size_t kOverridesMax = 1'000;

/// Limits, unless the mapping says unlimited: true; both or neither is reported.
[[nodiscard]] std::vector<core::Limit> read_limits_or_unlimited(const Fields& fields, bool unlimited,
                                                                Context& context);

/// `policy` has its key already.
[[nodiscard]] std::vector<core::Override> read_overrides(const Node& list, const core::Policy& policy,
                                                         Context& context);

}  // namespace dripgate::config
