// EmbeddedEngine: streams on the one SQLite file, or in memory. A failed commit makes its turn void: the
// pipelines then end and are built again from the file after a bounded backoff, exactly as after a crash.
#pragma once

#include <memory>
#include <string>

#include "app/engine.h"
#include "broker/sqlite/broker.h"
#include "sqlite/database.h"

namespace dripgate::app {

/// Wait before pipelines are built again after a failed commit: doubles from the first to the longest.
inline constexpr Duration kRebuildWaitFirst = 100ms;
inline constexpr Duration kRebuildWaitMax = 5s;

/// The ports of one stream on the embedded file. `http_sink`: where it delivers over HTTP; outlives them.
[[nodiscard]] LinePorts embedded_ports(const config::StreamSettings& settings, Clock& clock,
                                       sqlite::Database& database, broker::sqlite::Broker& broker,
                                       broker::Sink* http_sink);

class EmbeddedEngine final : public Engine {
 public:
  using Engine::Engine;
  ~EmbeddedEngine() override;

  /// Errors: locked, corrupt, newer_version, full, io.
  Result<void> open() override;
  void start() override;
  void end_turn() override;
  void when_durable(std::move_only_function<void(Result<void>)> then) override;
  [[nodiscard]] store::BookingStore& bookings() override { return *bookings_; }
  [[nodiscard]] store::CounterStore* counters() override { return counters_.get(); }
  [[nodiscard]] store::VendorStore* vendors() override { return vendors_.get(); }
  [[nodiscard]] bool has_room() override { return database_ == nullptr || !database_->low_on_space(); }

  [[nodiscard]] sqlite::Database& database() { return *database_; }

 private:
  Result<void> open_database();
  void fail_turn(const Error& error);
  void rebuild();
  void recovered(std::uint64_t failure);

  std::string path_;
  bool in_memory_ = false;
  std::unique_ptr<sqlite::Database> database_;
  std::unique_ptr<broker::sqlite::Broker> broker_;
  std::unique_ptr<store::BookingStore> bookings_;
  std::unique_ptr<store::CounterStore> counters_;  // of a file; null in memory
  std::unique_ptr<store::VendorStore> vendors_;    // the same
  bool rebuild_waits_ = false;
  bool reopen_ = false;         // the connection itself failed: open the file again
  std::uint64_t failures_ = 0;  // in a row
  std::uint64_t failure_ = 0;   // ever; tells a late check from a new failure
};

}  // namespace dripgate::app
