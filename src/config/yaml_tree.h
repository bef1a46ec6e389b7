// YAML tree: the file as strict nodes with places. Refuses what YAML readers disagree about or what hides
// things: aliases, anchors, tags, a second document, control characters, depth and size beyond bounds.
// Values stay text: what `10` or `yes` means is decided by the reader of each key. Called by load.cc. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/report.h"

namespace dripgate::config {

inline constexpr std::size_t kConfigBytesMax = 4u << 20;
inline constexpr std::size_t kYamlNodesMax = 200'000;
inline constexpr std::size_t kYamlDepthMax = 16;  // the deepest config there is has 8 levels

struct Node {
  enum class Kind : std::uint8_t { null, scalar, list, map };
  struct Key {
    std::string text;
    Mark at;
  };

  Kind kind = Kind::null;
  bool plain = false;  // scalar without quotes
  Mark at;
  std::string text{};         // scalar
  std::vector<Key> keys{};    // map: one per item, duplicates kept
  std::vector<Node> items{};  // list and map
};

/// Empty: the text is not one strict YAML document; the report says why.
[[nodiscard]] std::optional<Node> read_tree(Report& report);

/// The place in the file of byte `offset` of a scalar's text: inside the quotes, past escapes. The scalar's
/// own place where it was folded over several lines.
[[nodiscard]] Mark inside(const Node& scalar, std::size_t offset, std::string_view source);

}  // namespace dripgate::config
