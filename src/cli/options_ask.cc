// Options of the verbs that talk to a running `dripgate up`.
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/limits.h"
#include "cli/option_values.h"
#include "cli/options.h"
#include "cli/verbs.h"

namespace dripgate::cli {
namespace {

constexpr std::size_t kBatchMax = 10'000;
constexpr std::size_t kConcurrencyMax = 64;

void add_inspect(CLI::App& program, Run& run) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App& verb = *program.add_subcommand("inspect", "How streams and keys are doing right now");
  verb.add_option("STREAM", options->stream, "One stream; default: all");
  verb.add_option("KEY", options->key, "One key of it, as its template renders it");
  verb.add_flag("--json", options->json, "The server's answer as it is");
  add_server(verb, options->server);
  verb.footer(
      "Example: dripgate inspect payouts merchant_8421:payout\n"
      "In a key the values of attributes are percent-encoded ('cust B' is cust%20B). A key that was never "
      "used\n"
      "shows nothing released and nothing booked.");
  verb.callback([&run, options] { run = [options] { return run_inspect(*options); }; });
}

void add_explain(CLI::App& program, Run& run) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App& verb = *program.add_subcommand(
      "explain", "Which policies a request takes, why not the others, and what is left");
  verb.add_option("--attr", options->attributes, "A fact of the request")
      ->type_name("NAME=VALUE")
      ->required();
  verb.add_option("--cost", options->cost, "Units that it asks for")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_flag("--json", options->json, "The server's answer as it is");
  add_server(verb, options->server);
  verb.footer("Example: dripgate explain --attr plan=free --attr apiKey=k --attr route='GET /x'");
  verb.callback([&run, options] { run = [options] { return run_explain(*options); }; });
}

using LetterAction = LetterOptions::Action;

CLI::App& add_letter_action(CLI::App& dlq, Run& run, const std::shared_ptr<LetterOptions>& options,
                            const std::string& name, LetterAction action, const std::string& about) {
  CLI::App& verb = *dlq.add_subcommand(name, about);
  verb.add_option("STREAM", options->stream, "The stream")->required();
  verb.add_flag("--json", options->json, "The server's answer as it is");
  add_server(verb, options->server);
  verb.callback([&run, options, action] {
    options->action = action;
    run = [options] { return run_letters(*options); };
  });
  return verb;
}

void add_dlq(CLI::App& program, Run& run) {
  auto options = std::make_shared<LetterOptions>();
  CLI::App& dlq = *program.add_subcommand("dlq", "Dead letters: list, show, replay, purge");
  dlq.require_subcommand(1);
  CLI::App& list = add_letter_action(dlq, run, options, "list", LetterAction::list, "List the oldest first");
  list.add_option("--after", options->after, "Only those after this number");
  list.add_option("--count", options->count, "At most so many")
      ->check(CLI::Range(std::size_t{1}, kDeadLettersAnswerMax))
      ->capture_default_str();

  CLI::App& show =
      add_letter_action(dlq, run, options, "show", LetterAction::show, "Show one with its bytes");
  show.add_option("SEQ", options->sequence, "Its number in the list")->required();

  CLI::App& replay = add_letter_action(dlq, run, options, "replay", LetterAction::replay,
                                       "Send one, or all, through the limits again with the same id");
  CLI::Option* one = replay.add_option("SEQ", options->sequence, "Its number in the list");
  CLI::Option* all = replay.add_flag("--all", options->all, "All that are there now");
  replay.add_option("--per-second", options->per_second, "All: at most so many per second")
      ->check(CLI::Range(std::int64_t{1}, kReplayRateMax))
      ->capture_default_str();
  one->excludes(all);

  CLI::App& purge = add_letter_action(dlq, run, options, "purge", LetterAction::purge,
                                      "Remove one, or all that are old enough");
  CLI::Option* seq = purge.add_option("SEQ", options->sequence, "Its number in the list");
  CLI::Option* every = purge.add_flag("--all", options->all, "All of them");
  CLI::Option* old = add_span(purge, "--older-than", options->older_than, "Those that are older than this");
  seq->excludes(every)->excludes(old);
  every->excludes(old);
  replay.parse_complete_callback([options] {
    if (!options->sequence && !options->all) throw CLI::RequiredError("SEQ or --all");
  });
  purge.parse_complete_callback([options, old] {
    if (!options->sequence && !options->all && old->count() == 0) {
      throw CLI::RequiredError("SEQ, --all or --older-than");
    }
  });
  dlq.footer(
      "Examples:\n  dripgate dlq list payouts\n  dripgate dlq replay payouts 17\n"
      "  dripgate dlq purge payouts --older-than 7d");
}

void add_when(CLI::App& verb, Duration& duration, std::string& until) {
  CLI::Option_group& when = *verb.add_option_group("when", "How long");
  add_span(when, "--for", duration, "From now on for so long");
  when.add_option("--until", until, "Until then, as 2026-08-03T14:02:00Z")->type_name("TIME");
  when.require_option(1);
}

using VendorAction = VendorOptions::Action;

void add_vendor_action(CLI::App& vendor, Run& run, const std::string& name, VendorAction action,
                       const std::string& about) {
  auto options = std::make_shared<VendorOptions>();
  options->action = action;
  CLI::App& verb = *vendor.add_subcommand(name, about);
  verb.add_option("VENDOR", options->vendor, "Its id")->required();
  verb.add_option("--attr", options->attributes, "An attribute of its key")->type_name("NAME=VALUE");
  if (action == VendorAction::freeze) add_when(verb, options->duration, options->until);
  verb.add_flag("--json", options->json, "The server's answer as it is");
  add_server(verb, options->server);
  verb.callback([&run, options] { run = [options] { return run_vendor(*options); }; });
}

void add_vendor(CLI::App& program, Run& run) {
  CLI::App& vendor = *program.add_subcommand("vendor", "Keys at vendors: inspect, freeze, thaw");
  vendor.require_subcommand(1);
  add_vendor_action(vendor, run, "inspect", VendorAction::inspect, "Freeze, calls in flight, what is left");
  add_vendor_action(vendor, run, "freeze", VendorAction::freeze, "Let no call start for a while");
  add_vendor_action(vendor, run, "thaw", VendorAction::thaw, "End a freeze; starts follow the bucket");
  vendor.footer("Example: dripgate vendor freeze hubspot --attr portal=42 --for 10m");
}

using OperateAction = OperateOptions::Action;

void add_operate(CLI::App& program, Run& run, const std::string& name, OperateAction action, bool takes_key,
                 const std::string& about) {
  auto options = std::make_shared<OperateOptions>();
  options->action = action;
  CLI::App& verb = *program.add_subcommand(name, about);
  verb.add_option("STREAM", options->stream, "The stream")->required();
  if (takes_key)
    verb.add_option("KEY", options->key, "The key, as its template renders it (values percent-encoded)")
        ->required();
  if (action == OperateAction::freeze) {
    add_when(verb, options->duration, options->until);
    verb.footer("Example: dripgate freeze payouts merchant_8421:payout --for 10m");
  }
  add_server(verb, options->server);
  verb.callback([&run, options] { run = [options] { return run_operate(*options); }; });
}

}  // namespace

void add_publish_verb(CLI::App& program, Run& run) {
  auto options = std::make_shared<PublishOptions>();
  CLI::App& verb = *program.add_subcommand("publish", "Publish NDJSON into a stream, one event a line");
  verb.add_option("STREAM", options->stream, "The stream")->required();
  verb.add_option("FILE", options->file, "The events; - is standard input")->capture_default_str();
  add_server(verb, options->server);
  verb.add_option("--batch", options->batch, "Events of one request")
      ->check(CLI::Range(std::size_t{1}, kBatchMax))
      ->capture_default_str();
  verb.add_option("--concurrency", options->concurrency, "Requests at a time")
      ->check(CLI::Range(std::size_t{1}, kConcurrencyMax))
      ->capture_default_str();
  verb.add_option(
          "--retries", options->retries,
          "Times a request is sent again, with growing waits (10; 3 to a server that has never answered)")
      ->check(CLI::Range(0, 1000));
  verb.add_option(
      "--id-prefix", options->id_prefix,
      "Makes the ids of events that the stream's eventId does not name; with the same prefix, file and "
      "--batch a second run publishes nothing twice");
  verb.add_flag("--json", options->json, "The summary as JSON");
  verb.add_flag("-q,--quiet", options->quiet, "No progress");
  verb.footer(
      "Exits 0 when every event is stored, 1 when one failed or its id belongs to another body, 3 when the "
      "server "
      "never answered.\nExamples:\n  dripgate publish payouts examples/payouts.ndjson\n"
      "  producer | dripgate publish payouts - --id-prefix run-7");
  verb.callback([&run, options] { run = [options] { return run_publish(*options); }; });
}

void add_operate_verbs(CLI::App& program, Run& run) {
  add_inspect(program, run);
  add_explain(program, run);
  add_dlq(program, run);
  add_vendor(program, run);
  add_operate(program, run, "freeze", OperateAction::freeze, true, "Let nobody use a key for a while");
  add_operate(program, run, "thaw", OperateAction::thaw, true, "End a freeze");
  add_operate(program, run, "reset", OperateAction::reset, true, "Forget what a key has used and booked");
  add_operate(program, run, "pause", OperateAction::pause, false, "Stop letting events of a stream go");
  add_operate(program, run, "resume", OperateAction::resume, false, "Go on after a pause");
}

}  // namespace dripgate::cli
