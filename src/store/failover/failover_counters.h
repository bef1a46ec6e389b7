// FailoverCounters: what one FailoverStore has seen, for metrics. Written by its thread, read by any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "core/breaker.h"
#include "core/decision.h"

namespace dripgate::store {

/// Shards with a breaker of their own; a shard beyond shares one.
inline constexpr std::size_t kBreakersMax = 256;
inline constexpr std::size_t kErrorCodes = static_cast<std::size_t>(ErrorCode::cancelled) + 1;

struct FailoverCounters {
  using Count = std::atomic<std::uint64_t>;

  static void add(Count& count) { count.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] Count& degraded_by(core::FailureMode mode) {
    return degraded[static_cast<std::size_t>(mode)];
  }
  [[nodiscard]] Count& errors_of(ErrorCode code) { return store_errors[static_cast<std::size_t>(code)]; }

  std::array<Count, 3> degraded{};                // charges by FailureMode
  std::array<Count, kErrorCodes> store_errors{};  // by ErrorCode; probes and refunds included
  Count refunds_lost{};                           // units that stayed spent
  Count openings{};
  Count probes{};
  std::atomic<std::size_t> shards{};  // of `breakers` in use
  std::array<std::atomic<core::Breaker::State>, kBreakersMax> breakers{};
};

}  // namespace dripgate::store
