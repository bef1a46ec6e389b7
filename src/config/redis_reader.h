// Redis reader: `store: { redis: ... }`, one server by url, a cluster or Sentinel by their nodes. Called by
// the store reader.
#pragma once

#include "config/config.h"
#include "config/context.h"
#include "config/yaml_tree.h"

namespace dripgate::config {

[[nodiscard]] RedisStore read_redis(const Node& node, Context& context);

}  // namespace dripgate::config
