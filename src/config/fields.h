// Fields: one mapping of the file with the keys it accepts. Making one reports unknown, duplicate and empty
// keys; finding never does. Used by every reader of this room. One thread; the node outlives it.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/report.h"
#include "config/yaml_tree.h"

namespace dripgate::config {

/// The accepted keys of a mapping whose parts are read in different places.
template <std::size_t A, std::size_t B>
[[nodiscard]] constexpr std::array<std::string_view, A + B> joined_keys(
    const std::array<std::string_view, A>& first, const std::array<std::string_view, B>& second) {
  std::array<std::string_view, A + B> all{};
  std::ranges::copy(second, std::ranges::copy(first, all.begin()).out);
  return all;
}

class Fields {
 public:
  /// `what` names the mapping in messages: "policy 'login'".
  Fields(const Node& node, std::string what, std::span<const std::string_view> accepted, Report& report);

  /// The node was a mapping; otherwise that is reported and nothing is found.
  [[nodiscard]] bool is_map() const { return is_map_; }
  [[nodiscard]] const std::string& what() const { return what_; }
  [[nodiscard]] Mark at() const { return node_.at; }

  /// Null: the key is absent or has no value.
  [[nodiscard]] const Node* find(std::string_view key) const;
  /// As find; an absent key is an error ending in `hint` ("accepted: local, open, closed").
  [[nodiscard]] const Node* require(std::string_view key, std::string_view hint) const;
  /// The key stands there, maybe without a value or with a slip in its name (both reported already).
  [[nodiscard]] bool mentions(std::string_view key) const;
  [[nodiscard]] bool mentions_any(std::span<const std::string_view> keys) const;
  /// Where the key stands, else where the mapping starts.
  [[nodiscard]] Mark mark(std::string_view key) const;

 private:
  void check_key(std::size_t index, std::span<const std::string_view> accepted);
  void refuse_unknown(const Node::Key& key, std::span<const std::string_view> accepted);
  [[nodiscard]] std::size_t index_of(std::string_view key) const;

  const Node& node_;
  std::string what_;
  Report& report_;
  bool is_map_;
  std::set<std::string, std::less<>> meant_;  // accepted words that unknown keys are a slip of
};

/// Every item of a list; anything else, an empty list or more than `max` items is reported. `what` names it.
[[nodiscard]] std::span<const Node> list_items(const Node& node, std::string_view what, std::size_t max,
                                               Report& report);

}  // namespace dripgate::config
