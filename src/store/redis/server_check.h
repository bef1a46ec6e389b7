// Checks of the Redis servers at start, by INFO and TIME alone (managed Redis has no CONFIG). Faults are
// warnings: the limits still work, but not as promised.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "redis/client.h"

namespace dripgate::store {

inline constexpr int kRedisMajorMin = 7;
inline constexpr Duration kClockDifferenceMax = std::chrono::seconds{1};

struct ServerWarning {
  std::string node;  // "host:port"
  std::string text;  // one sentence: what is wrong, and what to do
};

/// Asks every primary: may it evict keys, is its version too old, does its clock differ from `host`'s by more
/// than kClockDifferenceMax; one that does not answer is a warning too. `host` outlives the answer, which
/// runs once, on the client's loop.
void check_servers(redis::Client& client, const Clock& host,
                   std::move_only_function<void(std::vector<ServerWarning>)> done);

/// What a server's INFO gives away. Pure.
[[nodiscard]] std::vector<std::string> info_warnings(std::string_view info);
/// `before`, `after`: what the host showed around the question. Empty: it agrees. Pure.
[[nodiscard]] std::string clock_warning(WallTime redis, WallTime before, WallTime after);

}  // namespace dripgate::store
