// Gcp reader: `gcp`, the project and where its services are reached. Called by load.cc.
#pragma once

#include "config/config.h"
#include "config/context.h"
#include "config/yaml_tree.h"

namespace dripgate::config {

[[nodiscard]] Gcp read_gcp(const Node& node, Context& context);

}  // namespace dripgate::config
