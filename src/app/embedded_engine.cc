#include "app/embedded_engine.h"

#include <algorithm>
#include <utility>

#include "app/broker_ports.h"
#include "broker/sqlite/after_commit_sink.h"
#include "runtime/real_clock.h"
#include "store/memory/stores.h"
#include "store/sqlite/stores.h"

namespace dripgate::app {

LinePorts embedded_ports(const config::StreamSettings& settings, Clock& clock, sqlite::Database& database,
                         broker::sqlite::Broker& broker, broker::Sink* http_sink) {
  LinePorts ports = broker_ports(broker, settings, clock);
  if (ports.sink != nullptr) return ports;
  ports.own_sink = std::make_unique<broker::sqlite::AfterCommitSink>(database, *http_sink);
  ports.sink = ports.own_sink.get();
  return ports;
}

EmbeddedEngine::~EmbeddedEngine() {
  lines_.end();
}

Result<void> EmbeddedEngine::open() {
  const config::ConfigPtr config = context_.snapshot.get();
  if (context_.roles != drip::Roles{} && !config->streams.empty()) {
    return fail(ErrorCode::invalid_argument,
                "a process for a part of the work needs a store that processes share; accepted: store: { "
                "redis: ... }, or `dripgate up`, which does everything");
  }
  const auto* file = std::get_if<config::SqliteStore>(&config->store);
  in_memory_ = file == nullptr;
  path_ = in_memory_ ? ":memory:" : file->path;
  return open_database();
}

Result<void> EmbeddedEngine::open_database() {
  auto opened = sqlite::Database::open(path_, {.vfs = {}, .exclusive_owner = !in_memory_});
  if (!opened) return std::unexpected(opened.error());
  database_ = std::move(*opened);
  broker_ = std::make_unique<broker::sqlite::Broker>(*database_, static_cast<Executor&>(context_.loop),
                                                     context_.clock);
  // In memory the bookings stay over a rebuild, as a store on another machine would.
  if (!in_memory_) counters_ = store::make_sqlite_counter_store(*database_, context_.clock);
  if (!in_memory_) vendors_ = store::make_sqlite_vendor_store(*database_, context_.clock);
  if (!in_memory_) bookings_ = store::make_sqlite_booking_store(*database_, context_.clock);
  if (bookings_ == nullptr) bookings_ = store::make_memory_booking_store(context_.clock);
  return {};
}

void EmbeddedEngine::start() {
  start_lines([this](const config::StreamSettings& settings) {
    return embedded_ports(settings, context_.clock, *database_, *broker_,
                          context_.http_sink(settings.stream->id));
  });
}

void EmbeddedEngine::when_durable(std::move_only_function<void(Result<void>)> then) {
  database_->after_commit(std::move(then));
}

void EmbeddedEngine::end_turn() {
  if (database_ == nullptr) return;
  if (const Result<void> committed = database_->end_turn(); !committed) fail_turn(committed.error());
}

void EmbeddedEngine::fail_turn(const Error& error) {
  lines_.end();
  if (std::exchange(rebuild_waits_, true)) return;
  reopen_ = !in_memory_ && error.code != ErrorCode::full;
  const auto doublings = std::min<std::uint64_t>(failures_++, 6);
  const Duration wait = std::min(kRebuildWaitFirst * (1 << doublings), kRebuildWaitMax);
  ++failure_;
  context_.health.raise("store", error.detail);
  context_.log.error("commit failed, streams start again from the file",
                     {{"error", to_string(error.code)}, {"detail", error.detail}, {"wait_ms", wait / 1ms}});
  context_.loop.post_after_real(wait, [this] { rebuild(); });
}

void EmbeddedEngine::rebuild() {
  rebuild_waits_ = false;
  if (reopen_) {
    bookings_.reset();
    counters_.reset();
    vendors_.reset();
    broker_.reset();
    database_.reset();
    if (const Result<void> opened = open_database(); !opened) {
      fail_turn(opened.error());
      reopen_ = true;
      return;
    }
    reopen_ = false;
  }
  start();
  context_.loop.post_after_real(kRebuildWaitMax, [this, failure = failure_] { recovered(failure); });
}

void EmbeddedEngine::recovered(std::uint64_t failure) {
  if (failure != failure_) return;
  failures_ = 0;
  context_.health.clear("store");
  context_.log.info("store works again");
}

}  // namespace dripgate::app
