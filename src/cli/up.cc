// `dripgate up`: the whole product in this process, until SIGTERM or SIGINT; `serve`, `worker`, `dispatch`
// and `consume`: a part of it.
#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "app/app.h"
#include "cli/config_file.h"
#include "cli/console.h"
#include "cli/verbs.h"

namespace dripgate::cli {
namespace {

/// How often the config file is looked at; SIGHUP looks at once.
constexpr std::time_t kReloadEverySeconds = 2;

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// A clock that runs ahead of real time must not meet a file that goes on in real time.
Result<void> check_scale(const UpOptions& options, const config::Config& config) {
  if (options.clock_scale == 1) return {};
  if (!is_loopback(config.server.host)) {
    return fail(ErrorCode::invalid_argument,
                "--clock-scale is for trying things out: server.listen must be a loopback address, not " +
                    config.server.host);
  }
  if (std::holds_alternative<config::RedisStore>(config.store)) {
    return fail(ErrorCode::invalid_argument,
                "--clock-scale needs an embedded store: Redis' own clock decides there");
  }
  const auto* file = std::get_if<config::SqliteStore>(&config.store);
  if (file == nullptr || !std::filesystem::exists(file->path)) return {};
  return fail(ErrorCode::invalid_argument,
              "--clock-scale needs a new database, because its clock runs ahead of real time: " + file->path +
                  " exists");
}

drip::Roles roles_of(Part part) {
  return {.intake = part == Part::all || part == Part::worker,
          .dispatch = part == Part::all || part == Part::dispatch,
          .consume = part == Part::all || part == Part::consume};
}

/// Several processes of one machine read one config: only one of them can listen where it says. A dispatcher
/// that is called must be found.
std::optional<std::uint16_t> port_of(const UpOptions& options, const config::Config& config) {
  const bool called =
      options.part == Part::dispatch &&
      std::ranges::any_of(config.streams, [](const auto& s) { return s.cloud_tasks.has_value(); });
  const bool listens_as_configured = options.part == Part::all || options.part == Part::serve || called;
  return options.port || listens_as_configured ? options.port : std::uint16_t{0};
}

/// Blocked in every thread and taken by wait_for_end; before any thread is made.
sigset_t take_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

int wait_for_end(app::App& app, const sigset_t& signals) {
  const std::timespec wait{.tv_sec = kReloadEverySeconds, .tv_nsec = 0};
  while (true) {
    const int signal = sigtimedwait(&signals, nullptr, &wait);
    if (signal == SIGTERM || signal == SIGINT) return signal;
    app.reload();
  }
}

}  // namespace

int run_up(const UpOptions& options) {
  auto config = load_config(options.config);
  if (!config) return kExitUsage;
  if (auto fits = check_scale(options, *config); !fits) return complain(fits.error());
  const sigset_t signals = take_signals();
  app::AppOptions settings;
  settings.config = std::make_shared<const config::Config>(std::move(*config));
  settings.clock_scale = options.clock_scale;
  settings.environment = environment;
  settings.create = options.create;
  settings.roles = roles_of(options.part);
  settings.port = port_of(options, *settings.config);
  settings.reload_asked = [] { ::kill(::getpid(), SIGHUP); };  // wakes wait_for_end
  settings.gate = options.part == Part::all || options.part == Part::serve;
  settings.log.json = options.json_log;
  if (options.verbose) settings.log.level = obs::Level::debug;
  const config::ConfigPtr kept = settings.config;
  auto started = app::App::start(std::move(settings));
  if (!started) {
    complain(started.error());
    return kExitRefused;
  }
  app::App& app = **started;
  if (options.clock_scale != 1) {
    complain(fmt::format("the clock runs {} times as fast as real time: for trying things out only",
                         options.clock_scale));
  }
  app.log().info(
      "up",
      {{"listen", fmt::format("{}:{}", kept->server.host, app.port())},
       {"rls", app.rls_port() == 0 ? "none" : fmt::format("{}:{}", kept->server.rls->host, app.rls_port())},
       {"config", kept->file},
       {"version", kept->version},
       {"streams", kept->streams.size()}});
  const int signal = wait_for_end(app, signals);
  app.log().info("stopping", {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"}});
  // From here on a second signal ends the process at once; nothing is lost by that either. A reload that is
  // asked for now comes too late.
  std::signal(SIGHUP, SIG_IGN);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  app.stop();
  app.log().info("stopped");
  return kExitOk;
}

}  // namespace dripgate::cli
