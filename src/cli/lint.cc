// `dripgate lint FILE...`: what `up` would say about a config, without starting anything.
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "cli/verbs.h"
#include "config/config.h"

namespace dripgate::cli {
namespace {

/// Lint must not depend on the machine it runs on: every variable counts as set.
std::optional<std::string> any_variable(const std::string&) {
  return "set-at-run-time";
}

nlohmann::json to_json(const config::Problem& problem) {
  return {{"file", problem.file},
          {"line", problem.line},
          {"column", problem.column},
          {"severity", problem.warning ? "warning" : "error"},
          {"message", problem.message}};
}

}  // namespace

int run_lint(const LintOptions& options) {
  bool refused = false;
  auto problems = nlohmann::json::array();
  for (const std::string& file : options.files) {
    const config::Loaded loaded = config::load(file, any_variable);
    refused |= !loaded.config.has_value();
    for (const config::Problem& problem : loaded.problems) {
      if (options.json) {
        problems.push_back(to_json(problem));
      } else {
        print_line(fmt::format("{}{}", problem.warning ? "warning: " : "", to_string(problem)));
      }
    }
    if (options.json || !loaded.config) continue;
    print_line(fmt::format("{}: ok, {} streams, {} policies, version {}", file, loaded.config->streams.size(),
                           loaded.config->policies.size(), loaded.config->version));
  }
  if (options.json) {
    print_line(nlohmann::json{{"ok", !refused}, {"problems", std::move(problems)}}.dump(2));
  }
  return refused ? kExitRefused : kExitOk;
}

}  // namespace dripgate::cli
