// Server reader: `server`. Called by load.cc.
#pragma once

#include "config/config.h"
#include "config/context.h"
#include "config/yaml_tree.h"

namespace dripgate::config {

[[nodiscard]] Server read_server(const Node& node, Context& context);

}  // namespace dripgate::config
