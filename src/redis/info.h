// Info: one line of what INFO answers. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace dripgate::redis {

/// The value of the line "name:value" of INFO's text; none: there is no such line.
[[nodiscard]] std::optional<std::string_view> info_field(std::string_view info, std::string_view name);

}  // namespace dripgate::redis
