// dripgate: the command line. Exit codes: 0 done, 1 refused or failed, 2 usage, 3 the server cannot be
// reached.
#include <string>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/console.h"
#include "cli/options.h"
#include "cli/verbs.h"

namespace {

constexpr const char* kAbout =
    "Dripgate: events that are over a limit wait for their slot; nothing is dropped, no window is exceeded.";
constexpr const char* kFooter =
    "Exit codes: 0 done, 1 refused or failed, 2 usage, 3 the server cannot be reached.\n"
    "Start here: dripgate up -c examples/dripgate.yaml, and in other terminals\n"
    "  dripgate sink --listen 127.0.0.1:9000\n"
    "  dripgate publish payouts examples/payouts.ndjson\n"
    "  dripgate inspect payouts";

/// The verb whose words could not be read, with its action: "dripgate vendor inspect".
std::string command_of(const CLI::App& program) {
  std::string text = program.get_name();
  const auto said = program.get_subcommands();
  return said.empty() ? text : text + " " + command_of(*said.front());
}

/// Empty unless the first word is no verb: CLI11 only says that it misses one.
std::string unknown_verb(const CLI::App& program, int count, char** arguments) {
  if (count < 2 || *arguments[1] == '-') return {};
  std::string text = std::string("there is no verb '") + arguments[1] + "'; the verbs are";
  for (const CLI::App* verb : program.get_subcommands({})) {
    if (verb->check_name(arguments[1])) return {};
    text += " " + verb->get_name();
  }
  return text;
}

}  // namespace

int main(int count, char** arguments) {
  using namespace dripgate::cli;
  CLI::App program(kAbout, "dripgate");
  program.require_subcommand(1);
  program.footer(kFooter);
  Run run;
  add_run_verbs(program, run);
  add_publish_verb(program, run);
  add_operate_verbs(program, run);
  add_redis_verbs(program, run);
  program.set_version_flag("--version", version_text());
  if (count == 1) {
    print(program.help());
    return kExitUsage;
  }
  if (const std::string fault = unknown_verb(program, count, arguments); !fault.empty()) {
    complain(fault);
    return kExitUsage;
  }
  try {
    program.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help
    complain(std::string(error.what()) + "; see " + command_of(program) + " --help");
    return kExitUsage;
  }
  return run();
}
