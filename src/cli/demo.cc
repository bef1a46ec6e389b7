// `dripgate demo [--real]`: the main job on real input, in this process: the product over a fresh SQLite file
// and HTTP, a sink, and one burst of events. Counts what the sink received by dripgate-released.
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdlib.h>

#include "app/app.h"
#include "base/rfc3339.h"
#include "cli/console.h"
#include "cli/demo_print.h"
#include "cli/publish_run.h"
#include "cli/verbs.h"
#include "runtime/real_clock.h"

namespace dripgate::cli {
namespace {

constexpr std::int64_t kDemoScale = 60;
constexpr std::int64_t kDemoLimit = 100;
constexpr const char* kDemoKey = "merchant_8421:payout";
/// The burst begins so soon after a minute of the demo's clock, so that its first minute is whole.
constexpr Duration kAfterTheMinute = 600ms;
/// On the demo's clock: the burst takes five minutes; twice that means that something is wrong.
constexpr Duration kDemoDeadline = 10min;
constexpr Duration kLookEvery = 50ms;

/// A new folder in the temporary one, gone with this object.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dripgate-demo-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] bool made() const { return !path_.empty(); }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// The stream of examples/dripgate.yaml. At 60x a slot of `even` is 10 ms of real time wide, so that the
/// scheduling of this machine would count; `start` puts all slots of a minute at its beginning.
std::string demo_yaml(std::uint16_t sink_port, bool real) {
  return fmt::format(R"(store: {{ sqlite: ./demo.db }}
streams:
  - id: payouts
    source: {{ embedded: payouts }}
    eventId: "{{payoutId}}"
    key: "merchant_{{merchant_id}}:payout"
    limits: [ {{ rpm: {} }} ]
    spread: {}
    maxDelay: 2h
    deliver: {{ http: "http://127.0.0.1:{}/payouts", timeout: 10s, maxAttempts: 8 }}
    overflowTopic: payout-events-overflow
    deadLetterTopic: payout-events-dlq
    onMissingKey: defaultKey
server: {{ listen: "127.0.0.1:0" }}
)",
                     kDemoLimit, real ? "even" : "start", sink_port);
}

class Demo {
 public:
  explicit Demo(const DemoOptions& options) : real_(options.real), events_(options.events) {}
  ~Demo() {
    if (app_ != nullptr) app_->stop();
  }

  Result<void> start();
  Result<void> run();
  /// Prints the table; true: it is as promised.
  bool report();

 private:
  Result<void> start_sink();
  Result<void> start_app();
  void wait_for_a_minute();
  Result<void> publish();
  void drain();
  Result<void> count_letters();
  void tell_progress();
  [[nodiscard]] WallTime now() const { return app_->clock().now(); }

  bool real_;
  std::string events_;
  Folder folder_;
  net::IoLoop loop_;
  // The receiver's own time stamps are not used: only what the deliveries carry.
  runtime::RealClock wall_;
  DemoTally tally_{kDemoLimit};
  std::unique_ptr<Receiver> receiver_;
  std::unique_ptr<http::Server> sink_;
  std::unique_ptr<app::App> app_;
  std::uint64_t published_ = 0;
  ServerAddress server_;
  ProgressLine line_;
  DemoTally::Minute told_ = 0;
};

Result<void> Demo::start() {
  if (!folder_.made()) return fail(ErrorCode::io, "cannot make a folder in the temporary one");
  if (events_.empty()) events_ = "examples/payouts.ndjson";
  if (!std::ifstream(events_)) {
    return fail(ErrorCode::invalid_argument,
                "cannot read " + events_ + ": run it in the project's folder, or name a file with --events");
  }
  if (auto sink = start_sink(); !sink) return sink;
  return start_app();
}

Result<void> Demo::start_sink() {
  receiver_ = std::make_unique<Receiver>(ReceiverPlay{}, wall_, loop_,
                                         [this](const Received& received) { tally_.delivered(received); });
  auto sink =
      http::Server::listen({.host = "127.0.0.1", .port = 0, .tls = {}, .limits = {}, .head_check = {}},
                           {&loop_}, [this](http::Request request, http::Reply reply) {
                             receiver_->handle(std::move(request), std::move(reply));
                           });
  if (!sink) return std::unexpected(sink.error());
  sink_ = std::move(*sink);
  return {};
}

Result<void> Demo::start_app() {
  config::Loaded loaded = config::parse(demo_yaml(sink_->port(), real_), folder_.path("dripgate.yaml"));
  if (!loaded.config) return fail(ErrorCode::invalid_argument, to_string(loaded.problems.front()));
  app::AppOptions options;
  options.config = std::make_shared<const config::Config>(std::move(*loaded.config));
  options.clock_scale = real_ ? 1 : kDemoScale;
  options.port = 0;
  options.log.write = [](std::string_view) {};
  auto app = app::App::start(std::move(options));
  if (!app) return std::unexpected(app.error());
  app_ = std::move(*app);
  server_.url = fmt::format("http://127.0.0.1:{}", app_->port());
  print_line(fmt::format(
      "dripgate demo: stream payouts, at most {} per minute and key, on a new SQLite file, HTTP in and out",
      kDemoLimit));
  print_line(real_ ? "Clock: real time, about five minutes."
                   : fmt::format("Clock: virtual, {} times as fast as real time: a minute takes one second.",
                                 kDemoScale));
  return {};
}

void Demo::wait_for_a_minute() {
  const WallTime next = std::chrono::ceil<std::chrono::minutes>(now()) + kAfterTheMinute;
  while (now() < next) loop_.run_for((next - now()) / (real_ ? 1 : kDemoScale) + 1us);
}

Result<void> Demo::publish() {
  std::ifstream in(events_, std::ios::binary);
  LineBatches batches(in, 1000);
  auto origin = api_origin(server_);
  if (!origin) return std::unexpected(origin.error());
  auto client = http::Client::make(loop_, origin->url, origin->options);
  if (!client) return std::unexpected(client.error());
  bool finished = false;
  PublishRun run(loop_, **client, origin->headers, batches, {.stream = "payouts", .id_prefix = "demo"},
                 [&] { finished = true; });
  const WallTime began = now();
  run.start();
  while (!finished) loop_.run_for(kLookEvery / 10);
  const Tally& tally = run.tally();
  published_ = tally.events();
  if (tally.failed + tally.conflict > 0) {
    return fail(ErrorCode::conflict, "not every event was taken in: " + tally.first_fault);
  }
  print_line(fmt::format("{}  {} events of {} published over HTTP at once",
                         format_rfc3339(began, Fraction::milliseconds), published_, events_));
  return {};
}

void Demo::tell_progress() {
  const WallTime time = now();
  const std::string text = fmt::format("{}  {} {} of {} received", format_rfc3339(time).substr(11, 8),
                                       bar(tally_.released(), published_, 30), tally_.released(), published_);
  line_.draw(text);
  const DemoTally::Minute minute = std::chrono::floor<std::chrono::minutes>(time).time_since_epoch().count();
  if (std::exchange(told_, minute) != minute && !terminal_err()) print_line(text);
}

void Demo::drain() {
  const WallTime deadline = now() + kDemoDeadline;
  // The letters are few and were counted before: the rest must come to the sink.
  while (tally_.accounted() < published_ && now() < deadline) {
    loop_.run_for(kLookEvery);
    tell_progress();
  }
  // A window more: what would come too often would come now.
  const WallTime end = now() + 1min;
  while (now() < end) loop_.run_for(kLookEvery);
  line_.clear();
}

Result<void> Demo::count_letters() {
  auto api = ApiClient::make(server_);
  if (!api) return std::unexpected(api.error());
  for (std::uint64_t after = 0, more = 1; more != 0;) {
    const auto answer = (*api)->ask("GET", fmt::format("/v1/streams/payouts/dead-letters?after={}", after));
    if (!answer) return std::unexpected(answer.error());
    const auto page = nlohmann::json::parse(*answer, nullptr, false);
    if (!page.is_object()) return fail(ErrorCode::corrupt, "the list of dead letters is not JSON");
    for (const auto& letter : page.value("deadLetters", nlohmann::json::array())) {
      tally_.dead_letter(letter.value("id", std::string()), letter.value("reason", std::string()));
    }
    more = page["next"].is_number() ? page["next"].get<std::uint64_t>() : 0;
    after = more;
  }
  return {};
}

Result<void> Demo::run() {
  wait_for_a_minute();
  if (auto sent = publish(); !sent) return sent;
  if (auto counted = count_letters(); !counted) return counted;
  drain();
  return {};
}

bool Demo::report() {
  print_line("");
  print(demo_table(tally_));
  print_line("");
  print(demo_sums(tally_, published_));
  print_line("");
  const bool even = tally_.minutes_of(kDemoKey) == std::vector<std::uint64_t>(5, kDemoLimit);
  const bool good =
      even && tally_.lost(published_) == 0 && tally_.exceeded() == 0 && tally_.unreadable() == 0;
  if (!even) complain(fmt::format("{} did not leave as 100/100/100/100/100", kDemoKey));
  print(good ? demo_next_steps() : "");
  return good;
}

}  // namespace

int run_demo(const DemoOptions& options) {
  Demo demo(options);
  if (auto started = demo.start(); !started) return complain(started.error());
  if (auto ran = demo.run(); !ran) return complain(ran.error());
  return demo.report() ? kExitOk : kExitRefused;
}

}  // namespace dripgate::cli
