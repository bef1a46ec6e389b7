// Metrics: counters and gauges of semantics.md section 9 as Prometheus text. app bridges drip::Observer to
// it; routes serve text(). Thread-safe. Labels are streams, reasons, ports and codes: never a key, and at
// most kMetricLabelsMax values each (then "other").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "obs/gate_metrics.h"

namespace dripgate::obs {

/// Gauges of one stream, refreshed at every scrape.
struct StreamGauges {
  bool paused = false;
  std::uint64_t in_flight = 0;     // deliveries in our hands, unsettled
  std::uint64_t backlog = 0;       // booked, waiting for their slot
  std::uint64_t dead_letters = 0;  // parked now
  std::optional<WallTime> oldest_slot;
  std::optional<WallTime> eta;  // when the last booked event is due
};

/// One stream's counters.
class StreamMetrics {
 public:
  virtual ~StreamMetrics() = default;
  virtual void verdict(std::string_view kind) = 0;  // now, scheduled, dead_letter, duplicate, conflict
  virtual void booking() = 0;
  virtual void release(Duration late) = 0;  // late: 0 for an immediate one
  virtual void rebook() = 0;
  virtual void delivery(std::string_view outcome) = 0;  // confirmed, expired, rate_limited, failed, refused
  virtual void dead_letter(std::string_view reason) = 0;
  virtual void redelivery() = 0;
  virtual void missing_key() = 0;
  virtual void port_error(std::string_view port, ErrorCode code) = 0;
  virtual void set(const StreamGauges& gauges, WallTime now) = 0;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();

  /// Made at the first call; lives as long as the Metrics.
  [[nodiscard]] StreamMetrics& stream(std::string_view id);

  [[nodiscard]] GateMetrics& gate() { return gate_; }
  void http_request(std::string_view route, int status);  // route: its template, "/v1/streams/{id}/events"
  void ingest_refused(std::string_view reason);           // events: rate, too_large, full, ...
  void config_loaded(const std::string& version, WallTime at);
  void reload_refused();
  void set_ready(bool ready);

  /// Prometheus text exposition, version 0.0.4.
  [[nodiscard]] std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  GateMetrics gate_;
};

}  // namespace dripgate::obs
