#include "app/app.h"

#include <algorithm>
#include <utility>

#include "app/file_limit.h"
#include "runtime/real_clock.h"

namespace dripgate::app {
namespace {

// Loop 0 serves requests, loop 1 delivers: a slow sink does not slow ingest.
constexpr std::size_t kIoLoops = 2;
constexpr std::size_t kServerLoop = 0;
constexpr std::size_t kSinkLoop = 1;

std::unique_ptr<Clock> make_clock(const AppOptions& options) {
  if (options.clock_scale == 1 && !options.clock_start) return std::make_unique<runtime::RealClock>();
  return std::make_unique<runtime::ScaledClock>(options.clock_start.value_or(runtime::RealClock{}.now()),
                                                options.clock_scale);
}

bool delivers_to_vendors(const config::Config& config) {
  return std::ranges::any_of(config.streams, [](const config::StreamSettings& settings) {
    const auto* http = std::get_if<config::HttpDelivery>(&settings.deliver);
    return http != nullptr && !http->vendor.empty();
  });
}

}  // namespace

App::App(AppOptions options)
    : options_(std::move(options)),
      log_(options_.log),
      clock_(make_clock(options_)),
      snapshot_(options_.config, options_.environment),
      loop_(options_.clock_scale),
      io_(kIoLoops),
      watch_(metrics_, log_,
             [this](const std::string& stream, const drip::EventVerdict& verdict) {
               board_.verdict(stream, verdict, *engine_);
             }),
      engine_(make_engine(
          {.loop = loop_,
           .clock = *clock_,
           .snapshot = snapshot_,
           .observer = watch_,
           .health = health_,
           .log = log_,
           .http_sink = [this](const std::string& stream) -> broker::Sink* {
             const auto vendor = vendor_sinks_.find(stream);
             if (vendor != vendor_sinks_.end()) return vendor->second.get();
             const auto sink = sinks_.find(stream);
             return sink == sinks_.end() ? nullptr : sink->second.get();
           },
           .timer = [this](const config::StreamSettings& settings,
                           std::unique_ptr<broker::Claims> claims) -> std::unique_ptr<broker::Timer> {
             return tasks_ == nullptr ? nullptr : tasks_->timer(settings, std::move(claims));
           },
           .roles = options_.roles,
           .environment = options_.environment,
           .create = options_.create,
           .reload_asked =
               [this](std::int64_t number) {
                 reload_asked_ = number;
                 if (options_.reload_asked) options_.reload_asked();
               }})),
      ingest_(loop_, *clock_, *engine_, board_),
      service_(loop_, *clock_, *engine_, ingest_, health_, stream_ids(*options_.config)) {}

App::~App() {
  stop();
}

std::vector<std::string> App::stream_ids(const config::Config& config) {
  std::vector<std::string> ids;
  for (const config::StreamSettings& settings : config.streams) ids.push_back(settings.stream->id);
  return ids;
}

Result<std::unique_ptr<App>> App::start(AppOptions options) {
  std::unique_ptr<App> app(new App(std::move(options)));
  app->allow_connections();
  if (auto opened = app->open_tasks(); !opened) return std::unexpected(opened.error());
  if (auto opened = app->engine_->open(); !opened) return std::unexpected(opened.error());
  if (auto opened = app->open_gate(); !opened) return std::unexpected(opened.error());
  if (auto made = app->make_sinks(); !made) return std::unexpected(made.error());
  if (auto bound = app->listen(); !bound) return std::unexpected(bound.error());
  if (auto bound = app->listen_rls(); !bound) return std::unexpected(bound.error());
  app->config_ = {.version = app->options_.config->version, .applied = app->clock_->now()};
  app->health_.config(app->config_);
  app->metrics_.config_loaded(app->config_.version, app->config_.applied);
  app->loop_.start([engine = app->engine_.get()] { engine->end_turn(); });
  app->loop_.run([app = app.get()] {
    app->engine_->start();
    app->engine_->report_config(app->config_);
    app->look_after_health();
    app->purge_old_letters();
  });
  if (app->tasks_ != nullptr) app->tasks_->start();
  app->io_.start();
  app->running_ = true;
  if (app->gate_ != nullptr)
    wait_for([gate = app->gate_.get()](Task ready) { gate->start(std::move(ready)); }, kGateStartWait);
  return app;
}

Result<void> App::open_tasks() {
  if (!TaskDesk::needed(*options_.config)) return {};
  tasks_ = std::make_unique<TaskDesk>(TaskDeskContext{
      .loop = loop_, .io = io_.loop(kServerLoop), .clock = *clock_, .health = health_, .log = log_});
  return tasks_->open(*options_.config, options_.roles.dispatch, options_.environment);
}

Result<void> App::open_gate() {
  if (!options_.gate && !delivers_to_vendors(*options_.config)) return {};
  gate_ = std::make_unique<Gate>(GateContext{.io = io_.loop(kServerLoop),
                                             .loop = loop_,
                                             .engine = *engine_,
                                             .clock = *clock_,
                                             .snapshot = snapshot_,
                                             .metrics = metrics_,
                                             .log = log_});
  if (auto opened = gate_->open(); !opened) return opened;
  const auto* redis = std::get_if<config::RedisStore>(&options_.config->store);
  desk_ = std::make_unique<VendorDesk>(
      VendorDeskContext{.io = io_.loop(kServerLoop),
                        .loop = loop_,
                        .engine = *engine_,
                        .clock = *clock_,
                        .steady = gate_->steady(),
                        .snapshot = snapshot_,
                        .metrics = metrics_,
                        .client = gate_->client(),
                        .key_prefix = redis == nullptr ? std::string{} : redis->key_prefix,
                        .instances = [gate = gate_.get()] { return gate->instances(); }});
  return {};
}

void App::allow_connections() {
  std::uint64_t files = kOwnFilesMax + kConnectionsMax;
  if (options_.config->server.rls) files += kConnectionsMax;  // gRPC bounds none: theirs leave HTTP its own
  for (const config::StreamSettings& settings : options_.config->streams) {
    const auto* http = std::get_if<config::HttpDelivery>(&settings.deliver);
    if (http != nullptr) files += http->max_connections;
  }
  if (const auto warning = allow_open_files(files)) log_.warn("few open files", {{"detail", *warning}});
}

Result<void> App::make_sinks() {
  for (const config::StreamSettings& settings : options_.config->streams) {
    const auto* http = std::get_if<config::HttpDelivery>(&settings.deliver);
    if (http == nullptr) continue;
    auto sink =
        http::HttpSink::make({.url = http->url,
                              .timeout = http->timeout,
                              .max_connections = http->max_connections,
                              .waiting_max = settings.max_outstanding_messages * kSinkWaitersPerMessage,
                              .ca_file = http->ca_file,
                              .keep_headers = !http->vendor.empty()},
                             io_.loop(kSinkLoop), loop_, *clock_);
    if (!sink) return std::unexpected(sink.error());
    const std::string& id = settings.stream->id;
    sinks_[id] = std::move(*sink);
    if (http->vendor.empty()) continue;
    vendor_sinks_[id] = std::make_unique<VendorSink>(VendorSinkContext{
        .vendor = http->vendor,
        .vendors = *desk_,
        .there = io_.loop(kServerLoop),
        .home = loop_,
        .inner = *sinks_[id],
        .key_names = [desk = desk_.get(), vendor = http->vendor] { return desk->key_names(vendor); }});
  }
  return {};
}

Result<void> App::listen() {
  const config::Server& settings = options_.config->server;
  server::Routes routes = server::make_routes({.service = service_,
                                               .config = [this] { return snapshot_.get(); },
                                               .metrics = metrics_,
                                               .log = log_,
                                               .gate = options_.gate ? gate_.get() : nullptr,
                                               .vendors = options_.gate ? desk_.get() : nullptr,
                                               .tasks = options_.roles.dispatch ? tasks_.get() : nullptr});
  http::ServerOptions server{.host = settings.host,
                             .port = options_.port.value_or(settings.port),
                             .tls = {},
                             .limits = {},
                             .head_check = std::move(routes.head_check)};
  if (tasks_ != nullptr) server.limits.header_bytes = kTaskHeaderBytesTaken;
  if (settings.tls) {
    server.tls = {settings.tls->cert_file, settings.tls->key_file, settings.tls->client_ca_file};
  }
  auto bound = http::Server::listen(std::move(server), {&io_.loop(kServerLoop)}, std::move(routes.handler));
  if (!bound) return std::unexpected(bound.error());
  server_ = std::move(*bound);
  return {};
}

Result<void> App::listen_rls() {
  const config::Server& settings = options_.config->server;
  if (!settings.rls || !options_.gate) return {};
  const bool open = settings.tokens.empty() || (settings.tls && settings.tls->client_ca_file);
  rls::ServerContext context{
      .executor = io_.loop(kServerLoop), .gate = *gate_, .config = [this] { return snapshot_.get(); }};
  if (gate_->answers_at_once())
    context.check_now = [this](check::Request request) { return gate_->check_now(std::move(request)); };
  auto bound = rls::Server::listen(
      {.host = settings.rls->host, .port = settings.rls->port, .tls = settings.tls, .reflection = open},
      std::move(context));
  if (!bound) return std::unexpected(bound.error());
  rls_ = std::move(*bound);
  return {};
}

void App::reload() {
  // Before the file is read: one that is asked for meanwhile gets a look of its own.
  const std::int64_t asked = reload_asked_;
  const config::ReloadResult result = snapshot_.reload();
  keep_config(result, asked);
  if (result.repeated) return;
  for (const config::Problem& problem : result.problems) {
    log_.warn(problem.warning ? "config warning" : "config refused", {{"problem", to_string(problem)}});
  }
  if (result.refused) metrics_.reload_refused();
  if (!result.changed) return;
  const config::ConfigPtr config = snapshot_.get();
  metrics_.config_loaded(config->version, config_.applied);
  log_.info("config reloaded", {{"file", config->file}, {"version", config->version}});
}

void App::keep_config(const config::ReloadResult& result, std::int64_t asked) {
  server::ConfigState state = config_;
  if (asked != kNoReload) state.reload = asked;
  if (result.changed) {
    state.version = snapshot_.get()->version;
    state.applied = clock_->now();
  }
  const auto error = std::ranges::find(result.problems, false, &config::Problem::warning);
  state.refused = result.refused && error != result.problems.end() ? to_string(*error) : "";
  if (state == config_) return;
  if (!config_.refused.empty() && state.refused.empty() && !result.changed)
    log_.info("config file is again the one in force", {{"version", state.version}});
  config_ = state;
  health_.config(state);
  loop_.post([this, state = std::move(state)] { engine_->report_config(state); });
}

void App::look_after_health() {
  for (const std::string& stream : service_.streams()) look_after_line(stream);
  engine_->has_room() ? health_.clear("disk") : health_.raise("disk", kDiskFull);
  metrics_.set_ready(health_.reasons().empty());
  if (gate_ != nullptr) gate_->show_store();
  watch_.say_left_out();
  loop_.post_after_real(kHealthEvery, [this] { look_after_health(); });
}

void App::look_after_line(const std::string& stream) {
  StreamLine* line = engine_->find(stream);
  if (line == nullptr) return;
  line->pipeline().status([this, cause = "stream " + stream](Result<drip::PipelineStatus> status) {
    const Error* error = !status ? &status.error() : status->last_error ? &*status->last_error : nullptr;
    error == nullptr ? health_.clear(cause) : health_.raise(cause, error->detail);
  });
}

void App::purge_old_letters() {
  for (const std::string& stream : service_.streams()) {
    StreamLine* line = engine_->find(stream);
    if (line == nullptr) continue;
    const WallTime before = clock_->now() - line->stream()->dead_letter_retention;
    service_.purge(stream, std::nullopt, before, [this, stream](Result<std::uint64_t> gone) {
      if (!gone || *gone == 0) return;
      log_.info("old dead letters purged", {{"stream", stream}, {"count", *gone}});
    });
  }
  loop_.post_after_real(kPurgeEvery, [this] { purge_old_letters(); });
}

void App::wait_for(std::move_only_function<void(Task)> begin, Duration wait) {
  struct Signal {
    std::mutex mutex;
    std::condition_variable wake;
    bool set = false;
  };
  auto signal = std::make_shared<Signal>();
  begin([signal] {
    const std::scoped_lock lock(signal->mutex);
    signal->set = true;
    signal->wake.notify_one();
  });
  std::unique_lock lock(signal->mutex);
  signal->wake.wait_for(lock, wait, [&] { return signal->set; });
}

void App::stop() {
  if (!std::exchange(running_, false)) return;
  // Twice the grace: the bound here is for a loop that does not answer at all.
  wait_for([this](Task done) { server_->stop(kServerStopGrace, std::move(done)); }, kServerStopGrace * 2);
  if (rls_ != nullptr) rls_->stop(kServerStopGrace);
  if (gate_ != nullptr) wait_for([this](Task done) { gate_->stop(std::move(done)); }, kGateStopWait);
  wait_for(
      [this](Task done) {
        loop_.post([this, done = std::move(done)]() mutable {
          engine_->shutdown(kShutdownWait * options_.clock_scale, std::move(done));
        });
      },
      kShutdownWait + kServerStopGrace);
  loop_.stop();
  io_.stop();
}

}  // namespace dripgate::app
