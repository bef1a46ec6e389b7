// `dripgate lint FILE...`: what `up` would say about a config, without starting anything.
#include "config/lint.h"

#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "cli/verbs.h"

namespace dripgate::cli {
namespace {

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
    const config::Loaded loaded = config::load_for_lint(file);
    const config::LintReport report = config::lint(loaded, file);
    refused |= report.errors;
    if (options.json) {
      for (const config::Problem& problem : loaded.problems) problems.push_back(to_json(problem));
    } else {
      for (const std::string& line : report.lines) print_line(line);
    }
  }
  if (options.json) {
    print_line(nlohmann::json{{"ok", !refused}, {"problems", std::move(problems)}}.dump(2));
  }
  return refused ? kExitRefused : kExitOk;
}

}  // namespace dripgate::cli
