#include "app/engine.h"

#include <algorithm>
#include <utility>

#include "app/real_clock.h"
#include "store/memory/stores.h"
#include "store/sqlite/stores.h"

namespace dripgate::app {

Engine::~Engine() {
  end_lines();
}

Result<void> Engine::open() {
  const config::ConfigPtr config = context_.snapshot.get();
  if (std::holds_alternative<config::RedisStore>(config->store)) {
    return fail(ErrorCode::invalid_argument,
                "streams on Redis do not run yet (docs/not-yet.md); accepted: "
                "store: { sqlite: PATH } or { memory: {} }");
  }
  const auto* file = std::get_if<config::SqliteStore>(&config->store);
  in_memory_ = file == nullptr;
  path_ = in_memory_ ? ":memory:" : file->path;
  return open_database();
}

Result<void> Engine::open_database() {
  auto opened = sqlite::Database::open(path_, {.vfs = {}, .exclusive_owner = !in_memory_});
  if (!opened) return std::unexpected(opened.error());
  database_ = std::move(*opened);
  broker_ = std::make_unique<broker::sqlite::Broker>(*database_, static_cast<Executor&>(context_.loop),
                                                     context_.clock);
  // In memory the bookings stay over a rebuild, as a store on another machine would.
  if (!in_memory_) bookings_ = store::make_sqlite_booking_store(*database_, context_.clock);
  if (bookings_ == nullptr) bookings_ = store::make_memory_booking_store(context_.clock);
  return {};
}

std::function<core::StreamPtr()> Engine::current_of(const std::string& stream) const {
  return [&snapshot = context_.snapshot, stream, seen = config::ConfigPtr{},
          found = core::StreamPtr{}]() mutable {
    config::ConfigPtr config = snapshot.get();
    if (config == seen) return found;
    for (const config::StreamSettings& settings : config->streams) {
      if (settings.stream->id == stream) found = settings.stream;
    }
    seen = std::move(config);
    return found;
  };
}

void Engine::build_lines() {
  const config::ConfigPtr config = context_.snapshot.get();
  for (const config::StreamSettings& settings : config->streams) {
    const std::string& id = settings.stream->id;
    const LinePorts ports{context_.loop,     context_.clock,        *database_, *broker_, *bookings_,
                          context_.observer, context_.http_sink(id)};
    lines_[id] = std::make_unique<StreamLine>(settings, current_of(id), ports);
  }
}

void Engine::start() {
  build_lines();
  for (auto& [id, line] : lines_) {
    line->pipeline().start();
    if (paused_.contains(id)) line->pipeline().pause();
  }
  up_ = true;
}

void Engine::end_lines() {
  up_ = false;
  lines_.clear();
}

void Engine::end_turn() {
  if (database_ == nullptr) return;
  if (const Result<void> committed = database_->end_turn(); !committed) fail_turn(committed.error());
}

void Engine::fail_turn(const Error& error) {
  end_lines();
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

void Engine::rebuild() {
  rebuild_waits_ = false;
  if (reopen_) {
    bookings_.reset();
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

void Engine::recovered(std::uint64_t failure) {
  if (failure != failure_) return;
  failures_ = 0;
  context_.health.clear("store");
  context_.log.info("store works again");
}

void Engine::shutdown(Duration wait, Task done) {
  struct Countdown {
    std::size_t open;
    Task done;
  };
  auto countdown = std::make_shared<Countdown>(lines_.size() + 1, std::move(done));
  auto arrive = [countdown](Result<void>) {
    if (--countdown->open == 0) countdown->done();
  };
  for (auto& [id, line] : lines_) line->pipeline().shutdown(wait, arrive);
  arrive({});
}

StreamLine* Engine::find(const std::string& stream) {
  const auto line = lines_.find(stream);
  return line == lines_.end() ? nullptr : line->second.get();
}

bool Engine::pause(const std::string& stream) {
  StreamLine* line = find(stream);
  if (line == nullptr) return false;
  paused_.insert(stream);
  line->pipeline().pause();
  return true;
}

bool Engine::resume(const std::string& stream) {
  StreamLine* line = find(stream);
  if (line == nullptr) return false;
  paused_.erase(stream);
  line->pipeline().resume();
  return true;
}

}  // namespace dripgate::app
