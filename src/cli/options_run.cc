// Options of the verbs that run something in this process: up, lint, sink, demo, version.
#include <array>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/option_values.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "core/vendor.h"

namespace dripgate::cli {
namespace {

constexpr std::int64_t kClockScaleMax = 1000;

CLI::App& add_process(CLI::App& program, Run& run, const char* name, const char* what, Part part,
                      std::shared_ptr<UpOptions>& options) {
  options = std::make_shared<UpOptions>();
  options->part = part;
  CLI::App& verb = *program.add_subcommand(name, what);
  verb.add_option("-c,--config", options->config, "The config file; read again when it changes or on SIGHUP")
      ->capture_default_str()
      ->type_name("FILE");
  verb.add_option("--port", options->port, "Listen on this port instead of the config's; 0: any free one")
      ->type_name("PORT");
  verb.add_flag("--create", options->create,
                "Make the topics and subscriptions that are missing on Google Cloud");
  verb.add_flag("--json-log", options->json_log, "Log lines as JSON");
  verb.add_flag("-v,--verbose", options->verbose, "Log more");
  verb.callback([&run, options] { run = [options] { return run_up(*options); }; });
  return verb;
}

void add_up(CLI::App& program, Run& run) {
  std::shared_ptr<UpOptions> options;
  CLI::App& verb = add_process(program, run, "up", "Run everything in this process, until SIGTERM or SIGINT",
                               Part::all, options);
  verb.add_option("--clock-scale", options->clock_scale,
                  "Run the clock N times as fast, to try a config out: new embedded store and loopback only")
      ->check(CLI::Range(std::int64_t{1}, kClockScaleMax))
      ->type_name("N");
  verb.footer("Example: dripgate up -c dripgate.yaml");
}

/// Parts of `up`, any number of each, on a store that processes share.
void add_parts(CLI::App& program, Run& run) {
  struct Verb {
    const char* name;
    Part part;
    const char* what;
  };
  static constexpr std::array kVerbs{
      Verb{"serve", Part::serve, "Only HTTP: ingest, operation, dead letters (store: Redis)"},
      Verb{"worker", Part::worker,
           "Only the source: reserve, then deliver, book or dead-letter (store: Redis)"},
      Verb{"dispatch", Part::dispatch,
           "Only the timer: let booked events go when they are due (store: Redis)"},
      Verb{"consume", Part::consume, "Only the overflow topic: deliver what was let go (store: Redis)"}};
  for (const Verb& verb : kVerbs) {
    std::shared_ptr<UpOptions> options;
    add_process(program, run, verb.name, verb.what, verb.part, options)
        .footer(
            "Any number of each may run; without --port worker, dispatch and consume listen (metrics, "
            "health) on "
            "any free port.\nExample: dripgate worker -c dripgate.yaml --port 9101");
  }
}

void add_lint(CLI::App& program, Run& run) {
  auto options = std::make_shared<LintOptions>();
  CLI::App& verb =
      *program.add_subcommand("lint", "Check config files: file:line:column, what, accepted words");
  verb.add_option("FILE", options->files, "Config files")->required();
  verb.add_flag("--json", options->json, "Problems as JSON");
  verb.add_option("--cases", options->cases, "Requests with the answers that the policies must give")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  verb.footer(
      "Exits 1 when a file would not load or a case is answered otherwise.\nExamples:\n"
      "  dripgate lint dripgate.yaml\n  dripgate lint examples/gate.yaml --cases examples/gate.cases");
  verb.callback([&run, options] { run = [options] { return run_lint(*options); }; });
}

void add_sink(CLI::App& program, Run& run) {
  auto options = std::make_shared<SinkOptions>();
  CLI::App& verb = *program.add_subcommand("sink", "A test receiver: logs each delivery as a line of JSON");
  verb.add_option("--listen", options->listen, "Where to listen")
      ->capture_default_str()
      ->type_name("HOST:PORT");
  add_span(verb, "--slow", options->slow, "Wait so long before every answer");
  verb.add_option("--fail-rate", options->fail_rate, "Part of the deliveries to fail")
      ->check(CLI::Range(0.0, 1.0));
  verb.add_option("--fail-status", options->fail_status, "What a failed one is answered")
      ->check(CLI::Range(400, 599))
      ->capture_default_str();
  add_rate(verb, "--limit", options->limit, options->window,
           "More than that is answered 429 with Retry-After");
  verb.add_option("--vendor", options->vendor,
                  "Play a vendor: its window is --limit, told in its own headers and enforced by 429")
      ->check(
          CLI::IsMember(std::vector<std::string>(core::kVendorProfiles.begin(), core::kVendorProfiles.end())))
      ->type_name("PROFILE");
  add_span(verb, "--skew", options->skew, "The vendor's clock is ahead by so much");
  verb.add_option("--secondary", options->secondary,
                  "Requests per minute that the vendor takes, told in no header")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  verb.add_option("--log", options->log, "Where the lines go; - is standard output")
      ->capture_default_str()
      ->type_name("FILE");
  verb.footer(
      "Examples:\n  dripgate sink --listen 127.0.0.1:9000 --slow 200ms\n"
      "  dripgate sink --fail-rate 0.1 --fail-status 503 --log deliveries.ndjson\n"
      "  dripgate sink --limit 100/60s\n"
      "  dripgate sink --vendor hubspot --limit 50/1s");
  verb.callback([&run, options] { run = [options] { return run_sink(*options); }; });
}

void add_demo(CLI::App& program, Run& run) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App& verb = *program.add_subcommand(
      "demo",
      "500 payouts at once under 100 per minute, on a new file and a clock that runs 60 times as fast");
  verb.add_flag("--real", options->real, "In real time: about five minutes");
  verb.add_option("--events", options->events, "The events to publish (examples/payouts.ndjson)")
      ->type_name("FILE");
  verb.footer("Exits 1 when an event is lost, a window is exceeded or the minutes are not 100 each.");
  verb.callback([&run, options] { run = [options] { return run_demo(*options); }; });
}

}  // namespace

void add_run_verbs(CLI::App& program, Run& run) {
  add_up(program, run);
  add_parts(program, run);
  add_lint(program, run);
  add_sink(program, run);
  add_demo(program, run);
  program.add_subcommand("version", "Print the version")->callback([&run] { run = run_version; });
}

}  // namespace dripgate::cli
