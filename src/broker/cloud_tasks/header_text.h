// Any bytes as the value of a header and back: what is not a visible ASCII character becomes %XX. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dripgate::broker::cloud_tasks {

[[nodiscard]] std::string to_header_text(std::string_view bytes);
/// Empty: a '%' without two hex digits.
[[nodiscard]] std::optional<std::string> from_header_text(std::string_view text);

}  // namespace dripgate::broker::cloud_tasks
