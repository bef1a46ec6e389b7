// GateMetrics: what checks and their store do, as Prometheus series. Part of Metrics (metrics.h).
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace dripgate::obs {

/// Totals of the store in front of the checks since the process started, and its state now.
struct GateStoreFigures {
  std::vector<std::pair<std::string_view, std::uint64_t>> errors;    // by class
  std::vector<std::pair<std::string_view, std::uint64_t>> degraded;  // charges by mode
  std::uint64_t breaker_openings = 0;
  std::uint64_t probes = 0;
  std::uint64_t refunds_lost = 0;
  std::vector<int> breakers;  // by shard: 0 closed, 1 open, 2 half-open
  int instances = 1;
};

class GateMetrics {
 public:
  GateMetrics();
  ~GateMetrics();

  /// One decision: allowed, denied, impossible, missing_key, unavailable; `degraded`: none, local, open,
  /// closed.
  void decision(std::string_view verdict, std::string_view degraded, Duration took);
  /// One policy's part in it: allowed, denied, shadow_allowed, shadow_denied, unlimited, skipped, replayed.
  void policy(std::string_view policy, std::string_view verdict);
  void missing_key(std::string_view policy);
  void store(const GateStoreFigures& figures);
  /// A call to a vendor that wants to start: allowed, denied, frozen, impossible, unavailable.
  void vendor_acquire(std::string_view vendor, std::string_view verdict);
  /// A vendor's answer: refused, other.
  void vendor_answer(std::string_view vendor, std::string_view kind);
  /// What it changed: freeze, lowered, held, settled, returned, concurrency, older, unreadable.
  void vendor_effect(std::string_view vendor, std::string_view effect);

  [[nodiscard]] std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dripgate::obs
