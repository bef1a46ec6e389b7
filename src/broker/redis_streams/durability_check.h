// What the settings of a Redis may cost a drip that lives in it. Read from INFO only, since managed services
// have no CONFIG. Asked once at start: for the log and /readyz.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/client.h"

namespace dripgate::broker::redis_streams {

/// One sentence per setting that can lose events, each beginning with the node. INFO does not say
/// appendfsync: "always" and a quiet "everysec" look alike, and then nothing is said.
using DurabilityWarnings = std::vector<std::string>;

/// `done` runs on the client's loop, also after the caller has gone. A node that does not answer is a
/// warning.
void check_durability(redis::Client& client, std::move_only_function<void(DurabilityWarnings)> done);

/// The same for the text of one node's INFO. Pure.
[[nodiscard]] DurabilityWarnings durability_of(std::string_view node, std::string_view info);

}  // namespace dripgate::broker::redis_streams
