// `dripgate publish STREAM FILE|-`: NDJSON into a stream, with retries, progress and an honest summary.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "cli/publish_run.h"
#include "cli/verbs.h"
#include "runtime/real_clock.h"

namespace dripgate::cli {
namespace {

constexpr Duration kDrawEvery = 100ms;

std::string new_prefix() {
  std::random_device entropy;
  return fmt::format("{:08x}{:08x}", entropy(), entropy());
}

nlohmann::ordered_json to_json(const Tally& tally) {
  nlohmann::ordered_json json;
  json["events"] = tally.events();
  json["now"] = tally.now;
  json["scheduled"] = tally.scheduled;
  json["accepted"] = tally.accepted;
  json["duplicate"] = tally.duplicate;
  json["dead_letter"] = tally.dead_letter;
  json["conflict"] = tally.conflict;
  json["failed"] = tally.failed;
  json["retries"] = tally.retries;
  if (!tally.first_fault.empty()) json["first_fault"] = tally.first_fault;
  return json;
}

std::string to_text(const Tally& tally, double seconds) {
  std::string text = fmt::format("{} events in {:.1f} s: {} now, {} scheduled, {} accepted", tally.events(),
                                 seconds, tally.now, tally.scheduled, tally.accepted);
  if (tally.duplicate > 0) text += fmt::format(", {} seen before", tally.duplicate);
  if (tally.dead_letter > 0) text += fmt::format(", {} dead-lettered", tally.dead_letter);
  if (tally.conflict > 0) text += fmt::format(", {} refused (id used by another body)", tally.conflict);
  if (tally.failed > 0) text += fmt::format(", {} failed", tally.failed);
  if (tally.retries > 0) text += fmt::format("; {} requests sent again", tally.retries);
  return text;
}

/// The run with what it works on and its progress line.
class Shell {
 public:
  Shell(const PublishOptions& options, std::istream& in, std::uint64_t size)
      : options_(options), size_(size), batches_(in, options.batch) {}

  int run(ApiOrigin origin) {
    origin.options.max_connections = options_.concurrency;
    auto client = http::Client::make(loop_, origin.url, origin.options);
    if (!client) return complain(client.error());
    PublishPlan plan{.stream = options_.stream,
                     .id_prefix = options_.id_prefix.empty() ? new_prefix() : options_.id_prefix,
                     .concurrency = options_.concurrency,
                     .retries = options_.retries.value_or(kRetriesDefault),
                     .first_contact_retries = options_.retries.value_or(kFirstContactRetries),
                     .timeout = options_.server.timeout};
    PublishRun run(loop_, **client, origin.headers, batches_, std::move(plan), [this] { finished_ = true; });
    const MonoTime began = runtime::mono_now();
    run.start();
    while (!finished_) {
      loop_.run_for(kDrawEvery);
      if (!options_.quiet) draw(run.tally());
    }
    line_.clear();
    return report(run, static_cast<double>((runtime::mono_now() - began).count()) / 1e6);
  }

 private:
  void draw(const Tally& tally) {
    const std::string counts = fmt::format("{} events, {} now, {} scheduled, {} failed", tally.events(),
                                           tally.now, tally.scheduled, tally.failed);
    line_.draw(size_ == 0 ? counts : bar(batches_.bytes_read(), size_, 24) + " " + counts);
  }

  int report(const PublishRun& run, double seconds) {
    const Tally& tally = run.tally();
    print_line(options_.json ? to_json(tally).dump() : to_text(tally, seconds));
    if (!tally.first_fault.empty()) complain("first fault: " + tally.first_fault);
    if (tally.events() > 0 && !run.reached()) return kExitUnreachable;
    return tally.failed + tally.conflict > 0 ? kExitRefused : kExitOk;
  }

  const PublishOptions& options_;
  std::uint64_t size_;  // bytes of the input; 0: unknown
  net::IoLoop loop_;
  LineBatches batches_;
  ProgressLine line_;
  bool finished_ = false;
};

}  // namespace

int run_publish(const PublishOptions& options) {
  auto origin = api_origin(options.server);
  if (!origin) return complain(origin.error());
  if (options.file == "-") return Shell(options, std::cin, 0).run(std::move(*origin));
  std::ifstream in(options.file, std::ios::binary);
  if (!in) return complain(Error{ErrorCode::invalid_argument, false, "cannot read " + options.file});
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(options.file, unknown);
  return Shell(options, in, unknown ? 0 : size).run(std::move(*origin));
}

}  // namespace dripgate::cli
