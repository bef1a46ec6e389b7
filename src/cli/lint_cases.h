// `dripgate lint --cases FILE CONFIG`: runs a user's cases (case_lines.h) against the policies of a config,
// in memory and on a clock of their own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/case_lines.h"
#include "config/snapshot.h"

namespace dripgate::cli {

/// One sentence per line that was answered otherwise: "line 3: expected deny, is allowed". Errors:
/// invalid_argument.
[[nodiscard]] Result<std::vector<std::string>> run_cases(config::ConfigPtr config,
                                                         const std::vector<CaseLine>& lines);

}  // namespace dripgate::cli
