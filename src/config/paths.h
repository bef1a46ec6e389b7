// Paths written in the file. Used by the readers of server, store and delivery.
#pragma once

#include <string>
#include <string_view>

#include "config/context.h"
#include "config/scalars.h"

namespace dripgate::config {

inline constexpr std::size_t kPathBytesMax = 4'096;

/// The path as the process can open it; empty: reported.
[[nodiscard]] inline std::string read_path(const Node& node, std::string_view what, Context& context) {
  const auto path = read_text(node, what, kPathBytesMax, context.report);
  return path ? context.resolve(*path) : std::string();
}

}  // namespace dripgate::config
