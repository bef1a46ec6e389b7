// Gate: the checks of this process: the counters of the config's store, breakers and local shares in front of
// them, and the Checker that server routes ask. Lives on the loop that serves requests, so that a check on
// memory or Redis changes no thread; only the embedded file is asked on the drip loop (file_counters.h).
//
// Another front end (Envoy RLS) brings its own threads: gate.post([&gate, ...] { gate.check(...); }). Where
// the store answers within the call (memory), it asks on the thread that it is on: check_now. Then one lock
// is around the Checker, and no callback runs under it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "app/engine.h"
#include "check/check.h"
#include "net/io_loop.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "redis/client.h"
#include "runtime/real_clock.h"
#include "server/gate_service.h"
#include "store/failover/failover_store.h"
#include "store/redis/instances.h"

namespace dripgate::app {

/// Everything outlives the Gate.
struct GateContext {
  net::IoLoop& io;  // of the requests
  runtime::Loop& loop;
  Engine& engine;
  Clock& clock;  // of embedded stores
  const config::Snapshot& snapshot;
  obs::Metrics& metrics;
  obs::Log& log;
};

/// Between two log lines about checks that were decided by failure mode.
inline constexpr Duration kDegradedLogEvery = std::chrono::minutes{1};

class Gate final : public server::GateService, public check::Observer {
 public:
  explicit Gate(GateContext context);
  ~Gate() override;

  /// Makes the counters of the config's store; before the loops run. Errors: what the store says.
  Result<void> open();
  /// Thread-safe, once the request loop runs. `ready` runs on it when a first check finds connections and
  /// scripts in place, or when that has failed.
  void start(Task ready);
  /// Thread-safe. The others count one instance less; `done` runs on the request loop.
  void stop(Task done);
  /// Thread-safe.
  void post(Task task) { context_.io.post(std::move(task)); }

  void check(check::Request request, Done<check::Answer> done) override;
  /// Thread-safe; only if answers_at_once().
  [[nodiscard]] Result<check::Answer> check_now(check::Request request);
  /// Thread-safe, once opened.
  [[nodiscard]] bool answers_at_once() const { return locked_ != nullptr; }
  void refund(const std::string& refund_id, Done<bool> done) override;
  void explain(check::Request request, Done<check::Explanation> done) override;
  void on_decision(const check::Answer& answer, Duration took) override;

  /// On the request loop; null: the store is embedded.
  [[nodiscard]] redis::Client* client() const { return client_.get(); }
  /// Thread-safe.
  [[nodiscard]] int instances() const { return local_.instances(); }
  [[nodiscard]] Clock& steady() { return steady_; }
  /// Brings the metrics of the store up to date and says in the log what was decided by failure mode since
  /// it last did. On the drip loop.
  void show_store();

 private:
  template <class T, class Ask>
  Result<T> within_call(Ask ask);
  Result<void> open_redis(const config::RedisStore& store);
  void log_degraded(const obs::GateStoreFigures& figures);

  GateContext context_;
  runtime::ScaledClock steady_;  // wall time that does not step
  store::LocalCounters local_;
  std::unique_ptr<redis::Client> client_;
  std::unique_ptr<store::Instances> instances_;
  std::unique_ptr<store::CounterStore> counters_;
  std::mutex checker_mutex_;          // only where locked_ is set
  std::unique_ptr<Executor> locked_;  // runs the store's timers under that lock; null: the store waits
  std::unique_ptr<store::FailoverStore> guarded_;
  std::unique_ptr<check::Checker> checker_;
  std::uint64_t degraded_logged_ = 0;  // decisions by failure mode that the log knows of
  std::optional<WallTime> degraded_logged_at_;
};

}  // namespace dripgate::app
