// `dripgate lint FILE...`: what `up` would say about a config, without starting anything.
#include "config/lint.h"

#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "cli/lint_cases.h"
#include "cli/verbs.h"
#include "config/file_read.h"

namespace dripgate::cli {
namespace {

nlohmann::json to_json(const config::Problem& problem) {
  return {{"file", problem.file},
          {"line", problem.line},
          {"column", problem.column},
          {"severity", problem.warning ? "warning" : "error"},
          {"message", problem.message}};
}

constexpr std::size_t kCaseFileBytesMax = 16u << 20;

/// True: every case is answered as it says. Prints what is not.
bool cases_hold(const LintOptions& options, const config::Config& config) {
  const auto text = config::read_file(options.cases, kCaseFileBytesMax);
  const auto lines = text ? read_cases(*text) : std::unexpected(text.error());
  const auto found = lines ? run_cases(std::make_shared<const config::Config>(config), *lines)
                           : Result<std::vector<std::string>>(std::unexpected(lines.error()));
  if (!found) {
    std::istringstream details(found.error().detail);
    for (std::string detail; std::getline(details, detail);) complain(options.cases + ": " + detail);
    return false;
  }
  if (options.json) return found->empty();
  for (const std::string& difference : *found) print_line(options.cases + ": " + difference);
  print_line(options.cases + ": " + std::to_string(lines->size()) + " cases, " +
             std::to_string(found->size()) + " answered otherwise under " + config.file);
  return found->empty();
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
    if (loaded.config && !options.cases.empty()) refused |= !cases_hold(options, *loaded.config);
  }
  if (options.json) {
    print_line(nlohmann::json{{"ok", !refused}, {"problems", std::move(problems)}}.dump(2));
  }
  return refused ? kExitRefused : kExitOk;
}

}  // namespace dripgate::cli
