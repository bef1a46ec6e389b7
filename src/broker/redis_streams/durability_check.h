// What the settings of a Redis may cost a drip that lives in it. Read from INFO, and from CONFIG GET where
// that is allowed: managed services refuse it. Asked at start and when Redis is back: for the log and
// /readyz. What any limit needs (version, eviction, clock) is checked by store/redis/server_check.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/client.h"

namespace dripgate::broker::redis_streams {

/// One sentence per setting that can lose events, each beginning with the node. INFO does not say
/// appendfsync: without CONFIG "always" and a quiet "everysec" look alike, and then nothing is said.
using DurabilityWarnings = std::vector<std::string>;

/// `done` runs on the client's loop, also after the caller has gone. A node that does not answer is left out:
/// server_check says why.
void check_durability(redis::Client& client, std::move_only_function<void(DurabilityWarnings)> done);

/// The same for the text of one node's INFO. `appendfsync`: as CONFIG GET shows it; empty: it is not shown.
/// Pure.
[[nodiscard]] DurabilityWarnings durability_of(std::string_view node, std::string_view info,
                                               std::optional<std::string_view> appendfsync = std::nullopt);

}  // namespace dripgate::broker::redis_streams
