// Policy lint: what a set of right policies should be warned about, and what no request could ask of them.
// Called by load.cc. Pure.
#pragma once

#include <vector>

#include "config/policy_reader.h"
#include "config/report.h"

namespace dripgate::config {

/// Warns about each policy whose scope differs from another's that the same request can match: such groups
/// are decided in turn instead of in one store call. Refuses policies that would give every request more
/// charges than one store call takes.
void lint_policies(const std::vector<PlacedPolicy>& policies, Report& report);

}  // namespace dripgate::config
