// Template reader: a text with {names} as core::KeyTemplate; problems point at the column inside the text.
// Called by the stream reader. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "config/context.h"
#include "config/yaml_tree.h"
#include "core/key_template.h"

namespace dripgate::config {

[[nodiscard]] std::optional<core::KeyTemplate> read_template(const Node& node, std::string_view what,
                                                             Context& context);

}  // namespace dripgate::config
