// What a bench has measured. Times are microseconds, rates per second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "capacity/plan.h"
#include "core/limit.h"

namespace dripgate::capacity {

/// Calls whose keys one primary owned at the start.
struct ShardStep {
  double answered_per_second = 0;
  std::uint64_t failed = 0;
  Duration p99{};
};

/// One load.
struct Step {
  int percent = 0;                // of the peak; 0: as fast as they are answered
  double offered_per_second = 0;  // 0: likewise
  double answered_per_second = 0;
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;  // no answer within kCallTimeout, refused, or too many open
  std::string failure{};     // the first one's words
  double late_share = 0;     // of the answered: later than the store's timeout, which ends a check
  Duration p50{}, p95{}, p99{};
  double redis_us_per_call = 0;  // CPU of the primaries' command threads; 0: INFO does not tell
  double own_cpu_share = 0;      // of one core, spent by this process: near 1 it is the bottleneck
  std::vector<ShardStep> shards{};
};

struct Accuracy {
  core::Algorithm algorithm{};
  core::Units limit = 0;
  core::Units admitted = 0;
  std::uint64_t asked = 0;
  std::uint64_t failed = 0;  // may have been counted: then fewer than the limit are admitted

  [[nodiscard]] double ratio() const { return static_cast<double>(admitted) / static_cast<double>(limit); }
};

/// The loads once more after a primary was ended.
struct Outage {
  std::string node;  // the one that stopped answering
  std::vector<Step> steps{};
  /// Until keys of every primary were answered again; empty: those of one never were.
  std::optional<Duration> back_after{};
};

struct BenchResult {
  std::vector<std::string> primaries{};  // "host:port, Redis 7.0.15"
  std::size_t connections = 0;           // of a load
  std::size_t clients = 0;               // of the accuracy
  std::size_t keys = 0;
  std::int64_t peak = 0;
  double bytes_per_key = 0;  // table and expiry included; 0: INFO does not tell
  Step saturation{};
  std::vector<Step> steps{};
  std::vector<Accuracy> accuracy{};
  std::optional<ShardPlan> plan{};  // empty: INFO does not tell what a call costs
  std::optional<Outage> outage{};
  std::size_t keys_left = 0;  // that could not be removed; they expire within an hour
};

}  // namespace dripgate::capacity
