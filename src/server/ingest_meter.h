// IngestMeter: server.ingest_rate_max, events per second over all streams, by the product's own token bucket.
// Thread-safe.
#pragma once

#include <mutex>

#include "base/result.h"
#include "core/counter.h"
#include "core/limit.h"

namespace dripgate::server {

class IngestMeter {
 public:
  /// Empty: admitted. Else the wait after which the same events pass. Errors: too_large (more events at once
  /// than `per_second` ever admits).
  [[nodiscard]] Result<std::optional<Duration>> admit(std::int64_t per_second, std::size_t events,
                                                      WallTime now);

 private:
  std::mutex mutex_;
  core::CounterState state_;
  WallTime last_seen_ = kLongAgo;
};

}  // namespace dripgate::server
