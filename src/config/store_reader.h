// Store reader: `store`, where counters, bookings and the topics of streams live. Called by load.cc.
#pragma once

#include "config/config.h"
#include "config/context.h"
#include "config/yaml_tree.h"

namespace dripgate::config {

[[nodiscard]] Store read_store(const Node& node, Context& context);

}  // namespace dripgate::config
