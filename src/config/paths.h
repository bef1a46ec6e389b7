// Paths written in the file. Used by the readers of server, store and delivery.
#pragma once

#include <string>
#include <string_view>

#include "config/context.h"
#include "config/scalars.h"
#include "config/words.h"

namespace dripgate::config {

inline constexpr std::size_t kPathBytesMax = 4'096;

/// The path as the process can open it; empty: reported.
[[nodiscard]] inline std::string read_path(const Node& node, std::string_view what, Context& context) {
  const auto path = read_text(node, what, kPathBytesMax, context.report);
  return path ? context.resolve(*path) : std::string();
}

/// The same of a PEM file, which lint looks into.
[[nodiscard]] inline std::string read_pem_path(const Node& node, std::string_view what, Context& context) {
  std::string path = read_path(node, what, context);
  if (!path.empty()) {
    context.pem_files.push_back(
        {.at = node.at, .name = std::string(what) + ' ' + in_quotes(node.text), .path = path});
  }
  return path;
}

}  // namespace dripgate::config
