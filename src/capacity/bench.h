// run_bench: what the Redis of a deployment carries, measured on it. Takes part of that Redis while it runs,
// and some of its memory; its keys are removed at the end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "capacity/plan.h"
#include "capacity/result.h"
#include "net/io_loop.h"
#include "redis/options.h"

namespace dripgate::capacity {

using namespace std::chrono_literals;

/// Of one call: longer than a check waits, so that lateness is measured and not cut off.
inline constexpr Duration kCallTimeout = 1s;
/// Until the primaries are connected.
inline constexpr Duration kConnectWait = 10s;
/// Of making the keys, of removing them, of one accuracy run, of what a load takes beyond its time, each.
inline constexpr Duration kPhaseMax = 60s;

inline constexpr std::int64_t kPeakMax = 1'000'000;
inline constexpr Duration kStepMax = 60s;
inline constexpr std::size_t kConnectionsMax = 1000;
inline constexpr std::size_t kKeysMax = 1'000'000;

struct BenchOptions {
  redis::Options redis{};    // its timeout is kCallTimeout here
  std::string key_prefix{};  // of the deployment; the bench's own comes behind it
  Duration late = 5ms;       // the store's timeout
  std::int64_t peak = 0;     // calls per second that are 100 %; 0: those of `load`
  Duration step = 5s;        // of one load
  std::size_t connections = 50;
  std::size_t clients = 200;  // that share one key
  std::size_t keys = 50'000;
  Load load{};
  std::optional<Duration> await_loss{};  // so long may it take until somebody has ended a primary
  std::function<void(std::string_view)> progress{};
};

/// Keeps the calling thread; nobody else uses the loop, before or after. Errors: unavailable, timed_out (no
/// primary answers; nobody ended a primary in time), invalid_argument (options of Redis), as a
/// redis::Client's.
[[nodiscard]] Result<BenchResult> run_bench(net::IoLoop& loop, BenchOptions options);

}  // namespace dripgate::capacity
