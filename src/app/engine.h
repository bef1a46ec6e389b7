// Engine: the embedded file and every stream's pipeline over it. A failed commit makes its turn void: the
// Engine then ends all pipelines and builds them again from the file after a bounded backoff, exactly as
// after a crash. Opened by App before the loop starts, then on the loop.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "app/health.h"
#include "app/loop.h"
#include "app/stream_line.h"
#include "obs/log.h"

namespace dripgate::app {

/// Wait before pipelines are built again after a failed commit: doubles from the first to the longest.
inline constexpr Duration kRebuildWaitFirst = 100ms;
inline constexpr Duration kRebuildWaitMax = 5s;

/// Said while Engine::has_room is false.
inline constexpr const char* kDiskFull =
    "the disk of the database is full: free some space; events already booked are still delivered";

/// What the Engine works with; everything outlives it.
struct EngineContext {
  Loop& loop;
  Clock& clock;
  const config::Snapshot& snapshot;
  drip::Observer& observer;
  Health& health;
  obs::Log& log;
  std::function<broker::Sink*(const std::string& stream)> http_sink;  // null: it delivers to a topic
};

class Engine {
 public:
  explicit Engine(EngineContext context) : context_(std::move(context)) {}
  ~Engine();

  /// Opens the file of the config in force (locked, corrupt, newer_version, full, io) and starts nothing.
  Result<void> open();
  /// Builds and starts every pipeline. On the loop.
  void start();
  /// Commits the turn. On the loop, after every turn.
  void end_turn();
  /// Ordered end of every pipeline, at most `wait` on the clock of the loop; `done` on the loop.
  void shutdown(Duration wait, Task done);

  /// Null: no such stream, or the pipelines are down.
  [[nodiscard]] StreamLine* find(const std::string& stream);
  [[nodiscard]] sqlite::Database& database() { return *database_; }
  [[nodiscard]] store::BookingStore& bookings() { return *bookings_; }
  /// False while the disk is full: nothing new is taken in, what is booked goes out (sqlite/space.h).
  [[nodiscard]] bool has_room() { return database_ == nullptr || !database_->low_on_space(); }

  /// Pausing outlives a rebuild, not a restart. False: no such stream or down.
  bool pause(const std::string& stream);
  bool resume(const std::string& stream);
  [[nodiscard]] bool paused(const std::string& stream) const { return paused_.contains(stream); }

 private:
  Result<void> open_database();
  void build_lines();
  void end_lines();
  void fail_turn(const Error& error);
  void rebuild();
  void recovered(std::uint64_t failure);
  [[nodiscard]] std::function<core::StreamPtr()> current_of(const std::string& stream) const;

  EngineContext context_;
  std::string path_;
  bool in_memory_ = false;
  std::unique_ptr<sqlite::Database> database_;
  std::unique_ptr<broker::sqlite::Broker> broker_;
  std::unique_ptr<store::BookingStore> bookings_;
  std::map<std::string, std::unique_ptr<StreamLine>> lines_;
  std::set<std::string> paused_;
  bool up_ = false;
  bool rebuild_waits_ = false;
  bool reopen_ = false;         // the connection itself failed: open the file again
  std::uint64_t failures_ = 0;  // in a row
  std::uint64_t failure_ = 0;   // ever; tells a late check from a new failure
};

}  // namespace dripgate::app
