// App: everything of `dripgate up` in one process: file, pipelines, sinks, HTTP server, reload. Used by the
// CLI and the demo. start, reload and stop are called from one thread, which is none of App's own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "app/drip_watch.h"
#include "app/engine.h"
#include "app/gate.h"
#include "app/ingest.h"
#include "app/io_threads.h"
#include "app/service.h"
#include "app/task_desk.h"
#include "app/vendor_desk.h"
#include "app/vendor_sink.h"
#include "broker/gcp/channels.h"
#include "http/http_sink.h"
#include "http/server.h"
#include "rls/server.h"
#include "server/routes.h"

namespace dripgate::app {

/// Ordered end: what is on the wire is answered within this, the rest comes again at the next start.
inline constexpr Duration kShutdownWait = 10s;
inline constexpr Duration kServerStopGrace = 2s;
/// For the first connections of the gate; without them it serves, and decides by failure mode.
inline constexpr Duration kGateStartWait = 1s;
/// For telling Redis that this process counts no more.
inline constexpr Duration kGateStopWait = 1s;
/// How often the pipelines are asked how they are, for /readyz.
inline constexpr Duration kHealthEvery = 1s;
/// How often old dead letters are looked for.
inline constexpr Duration kPurgeEvery = std::chrono::minutes{10};

/// Deliveries that may wait for a connection of the sink: fresh events and those back from the overflow
/// topic.
inline constexpr std::size_t kSinkWaitersPerMessage = 2;

/// Request line and headers where tasks come in: what a task may have (cloud_tasks/task.h), the token and
/// what proxies add.
inline constexpr std::size_t kTaskHeaderBytesTaken = 96u << 10;

struct AppOptions {
  config::ConfigPtr config;
  std::int64_t clock_scale = 1;
  std::optional<WallTime> clock_start;  // with a scale: what the clock shows first; default the real time
  std::optional<std::uint16_t> port;    // instead of the config's; 0: any free one
  config::Environment environment;      // for {env: NAME} when the file is read again
  obs::LogOptions log;
  bool create = false;  // topics and subscriptions that are missing on Google Cloud
  drip::Roles roles{};  // of this process, on a store that several can share
  bool gate = true;     // it answers checks
  /// A message asks for App::reload, which is the owner's to call. From any thread. May be empty.
  std::function<void()> reload_asked{};
};

class App {
 public:
  /// Opens, binds, starts. Errors: what the file or the address says, one sentence.
  static Result<std::unique_ptr<App>> start(AppOptions options);
  ~App();

  /// Looks at the config file again.
  void reload();
  /// Stop accepting, stop pulling, finish what is on the wire, commit, end. Idempotent.
  void stop();

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  /// Of Envoy's rate limit service; 0: there is none here.
  [[nodiscard]] std::uint16_t rls_port() const { return rls_ == nullptr ? 0 : rls_->port(); }
  [[nodiscard]] const Clock& clock() const { return *clock_; }
  [[nodiscard]] obs::Log& log() { return log_; }

 private:
  static constexpr std::int64_t kNoReload = -1;  // none was asked for by message

  explicit App(AppOptions options);
  static std::vector<std::string> stream_ids(const config::Config& config);
  void allow_connections();
  Result<void> open_tasks();
  Result<void> open_gate();
  Result<void> make_sinks();
  Result<void> listen();
  Result<void> listen_rls();
  void keep_config(const config::ReloadResult& result, std::int64_t asked);
  void look_after_health();
  void look_after_line(const std::string& stream);
  void purge_old_letters();
  /// Calls `begin` with a Task and waits until that has run, at most `wait`.
  static void wait_for(std::move_only_function<void(Task)> begin, Duration wait);

  broker::gcp::LibraryEnd library_end_;  // behind all that may speak gRPC
  AppOptions options_;
  obs::Log log_;
  obs::Metrics metrics_;
  Health health_;
  std::unique_ptr<Clock> clock_;
  config::Snapshot snapshot_;
  std::atomic<std::int64_t> reload_asked_{kNoReload};
  server::ConfigState config_;  // of the owner's thread; others have Health's
  VerdictBoard board_;
  runtime::Loop loop_;
  IoThreads io_;
  DripWatch watch_;
  std::map<std::string, std::unique_ptr<http::HttpSink>> sinks_;
  std::unique_ptr<TaskDesk> tasks_;  // null: no timer on Cloud Tasks; before the engine, whose timers use it
  std::unique_ptr<Engine> engine_;
  Ingest ingest_;
  Service service_;
  std::unique_ptr<Gate> gate_;        // null: this process answers no checks
  std::unique_ptr<VendorDesk> desk_;  // null as the gate
  std::map<std::string, std::unique_ptr<VendorSink>> vendor_sinks_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<rls::Server> rls_;  // null: the config asks for none, or this process answers no checks
  bool running_ = false;
};

}  // namespace dripgate::app
