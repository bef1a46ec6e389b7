// Options of the verbs that ask the Redis of a config themselves.
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/option_values.h"
#include "cli/options.h"
#include "cli/verbs.h"

namespace dripgate::cli {
namespace {

void add_config(CLI::App& verb, std::string& config) {
  verb.add_option("-c,--config", config, "A config file that names the Redis (store: { redis: ... })")
      ->capture_default_str()
      ->type_name("FILE");
}

void add_instances(CLI::App& program, Run& run) {
  auto options = std::make_shared<InstancesOptions>();
  CLI::App& verb = *program.add_subcommand(
      "instances", "Which config every process on one Redis runs, since when, and which files are refused");
  add_config(verb, options->config);
  verb.add_flag("--json", options->json, "As JSON");
  verb.footer("Example: dripgate instances -c dripgate.yaml");
  verb.callback([&run, options] { run = [options] { return run_instances(*options); }; });
}

void add_reload(CLI::App& program, Run& run) {
  auto options = std::make_shared<ReloadOptions>();
  CLI::App& verb = *program.add_subcommand(
      "reload", "Make every process on one Redis look at its config file now, and wait for their reports");
  add_config(verb, options->config);
  add_span(verb, "--wait", options->wait, "Longest wait for the reports (10s)");
  verb.add_flag("--json", options->json, "As JSON");
  verb.footer(
      "Each process reads its own file. Exits 0 when every one runs its file as it is now, 1 when one "
      "refused it or "
      "has not reported.\nExample: dripgate reload -c dripgate.yaml");
  verb.callback([&run, options] { run = [options] { return run_reload(*options); }; });
}

}  // namespace

void add_redis_verbs(CLI::App& program, Run& run) {
  add_instances(program, run);
  add_reload(program, run);
}

}  // namespace dripgate::cli
