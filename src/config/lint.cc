// Lint: see lint.h.
#include "config/lint.h"

#include <algorithm>

namespace dripgate::config {
namespace {

std::string counted(std::size_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

}  // namespace

LintReport lint(const Loaded& loaded, const std::string& file) {
  LintReport report;
  for (const Problem& problem : loaded.problems) report.lines.push_back(to_string(problem));
  const auto warnings =
      static_cast<std::size_t>(std::ranges::count(loaded.problems, true, &Problem::warning));
  report.errors = !loaded.config.has_value();
  std::string summary = file + ": " + counted(loaded.problems.size() - warnings, "error", "errors") + ", " +
                        counted(warnings, "warning", "warnings");
  if (loaded.config) {
    summary += "; " + counted(loaded.config->policies.size(), "policy", "policies") + ", " +
               counted(loaded.config->streams.size(), "stream", "streams");
    if (const auto vendors = loaded.config->vendors.size(); vendors != 0)
      summary += ", " + counted(vendors, "vendor", "vendors");
  }
  report.lines.push_back(std::move(summary));
  return report;
}

}  // namespace dripgate::config
