// Lint: the problems of a loaded file as lines for a person. Called by `dripgate lint`; pure.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace dripgate::config {

struct LintReport {
  std::vector<std::string> lines;  // one per problem by position, then a summary
  bool errors = false;             // the file would not load
};

[[nodiscard]] LintReport lint(const Loaded& loaded, const std::string& file);

/// Loads a file for lint alone (defined in load.cc): every environment variable counts as set, each to
/// another value, so that the answer does not depend on the machine. The secrets in it are no secrets. PEM
/// files are opened, which otherwise their users do.
[[nodiscard]] Loaded load_for_lint(const std::string& file);

}  // namespace dripgate::config
