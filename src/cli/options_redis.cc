// Options of the verbs that ask the Redis of a config themselves.
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/limits.h"
#include "capacity/bench.h"
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

void add_load(CLI::App& verb, BenchStoreOptions& options) {
  verb.add_option("--instances", options.instances, "The load to plan for: instances")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{kInstancesMax}))
      ->capture_default_str();
  verb.add_option("--requests", options.requests, "... requests per second of all of them")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
  verb.add_option("--checks", options.checks, "... checks per request")
      ->check(CLI::Range(0.1, 100.0))
      ->capture_default_str();
  verb.add_option("--alive-keys", options.alive_keys, "... keys alive at once")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}))
      ->capture_default_str();
}

void add_bench(CLI::App& program, Run& run) {
  CLI::App& bench = *program.add_subcommand("bench", "Measure a store: store");
  bench.require_subcommand(1);
  auto options = std::make_shared<BenchStoreOptions>();
  CLI::App& verb = *bench.add_subcommand(
      "store", "What a Redis carries, measured on it under load: rates, latencies, accuracy, memory, shards");
  add_config(verb, options->config);
  verb.add_option("--peak", options->peak, "Calls per second that are 100 %; default: --requests x --checks")
      ->check(CLI::Range(std::int64_t{1}, capacity::kPeakMax));
  add_span(verb, "--step", options->step, "Time of each load, up to 1m (5s)");
  verb.add_option("--connections", options->connections, "Connections that share a load")
      ->check(CLI::Range(std::size_t{1}, capacity::kConnectionsMax))
      ->capture_default_str();
  verb.add_option("--clients", options->clients, "Clients that share one key")
      ->check(CLI::Range(std::size_t{1}, capacity::kConnectionsMax))
      ->capture_default_str();
  verb.add_option("--keys", options->keys, "Keys that are made and asked")
      ->check(CLI::Range(std::size_t{1}, capacity::kKeysMax))
      ->capture_default_str();
  add_load(verb, *options);
  add_span(verb, "--await-loss", options->await_loss,
           "Then wait so long, up to 10m, until you have ended one primary, and offer the loads again");
  verb.add_flag("--json", options->json, "As JSON");
  verb.footer(
      "It loads that Redis and needs some of its memory; its keys are removed at the end.\n"
      "Example: dripgate bench store -c dripgate.yaml --peak 60000 --await-loss 1m");
  verb.callback([&run, options] { run = [options] { return run_bench_store(*options); }; });
}

}  // namespace

void add_redis_verbs(CLI::App& program, Run& run) {
  add_instances(program, run);
  add_reload(program, run);
  add_bench(program, run);
}

}  // namespace dripgate::cli
