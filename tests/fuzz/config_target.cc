// A config file of any bytes: parse and lint never crash, every problem names a line of the text and says
// something, a refused file has an error among them, and what loads has limits and a matcher.
#include <algorithm>
#include <string>

#include "config/lint.h"
#include "config/match.h"
#include "fuzz/require.h"

namespace dripgate::fuzz {
namespace {

void run(std::string_view text) {
  const config::Loaded loaded = config::parse(text, "fuzz.yaml", [](const std::string& name) {
    return name == "SECRET" ? std::optional<std::string>("a-secret-of-enough-letters") : std::nullopt;
  });
  const auto lines = std::ranges::count(text, '\n') + std::ranges::count(text, '\r') + 1;
  bool refused = false;
  for (const config::Problem& problem : loaded.problems) {
    refused = refused || !problem.warning;
    require(problem.line >= 1 && problem.line <= lines, "a problem names a line of the file",
            to_string(problem));
    require(problem.column >= 1, "a problem names a column", to_string(problem));
    require(!problem.message.empty(), "a problem says what is wrong");
  }
  require(refused != loaded.config.has_value(), "a file is refused with an error, or it loads");
  const config::LintReport report = config::lint(loaded, "fuzz.yaml");
  require(report.errors == refused, "lint says what parse says");
  if (!loaded.config) return;
  for (const core::PolicyPtr& policy : loaded.config->policies) {
    require(policy->unlimited || !policy->limits.empty(), "a policy that loads limits", policy->id);
    for (const core::Limit& limit : policy->limits)
      require(limit.limit >= 0 && limit.window > Duration{0}, "a limit has units and a window", policy->id);
  }
  require(loaded.config->matcher != nullptr, "what loads can match");
  (void)loaded.config->matcher->match({{"route", "POST /auth/login"}, {"plan", "free"}});
}

}  // namespace
}  // namespace dripgate::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dripgate::fuzz::run(dripgate::fuzz::text_of(data, size));
  return 0;
}
