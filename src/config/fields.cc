// Fields: see fields.h.
#include "config/fields.h"

#include <algorithm>
#include <array>

#include "config/words.h"

namespace dripgate::config {
namespace {

constexpr std::array<std::string_view, 4> kRates{"rps", "rpm", "rph", "rpd"};  // keys of an item of `limits`

}  // namespace

Fields::Fields(const Node& node, std::string what, std::span<const std::string_view> accepted, Report& report)
    : node_(node), what_(std::move(what)), report_(report), is_map_(node.kind == Node::Kind::map) {
  if (!is_map_) {
    report_.error(node_.at, what_ + " must be a mapping; accepted keys: " + joined(accepted));
    return;
  }
  for (std::size_t i = 0; i < node_.keys.size(); ++i) check_key(i, accepted);
}

void Fields::check_key(std::size_t index, std::span<const std::string_view> accepted) {
  const Node::Key& key = node_.keys[index];
  const std::size_t first = index_of(key.text);
  if (first != index) {
    report_.error(key.at, "duplicate key " + in_quotes(key.text) + " in " + what_ + "; the first is at " +
                              report_.place(node_.keys[first].at));
    return;
  }
  if (std::ranges::find(accepted, key.text) == accepted.end()) {
    refuse_unknown(key, accepted);
    return;
  }
  if (node_.items[index].kind == Node::Kind::null) {
    report_.error(key.at, in_quotes(key.text) + " in " + what_ + " has no value");
  }
}

void Fields::refuse_unknown(const Node::Key& key, std::span<const std::string_view> accepted) {
  // YAML reads {rpm:100} as one word without a value.
  const std::size_t colon = key.text.find(':');
  const std::string_view word = std::string_view(key.text).substr(0, colon);
  std::string hint = colon == std::string::npos ? "" : "a ':' needs a space behind it; ";
  const auto known = [&](std::string_view one) { return std::ranges::find(accepted, one) != accepted.end(); };
  if (std::ranges::find(kRates, word) != kRates.end() && known("limits"))
    hint += "it stands in a list, such as limits: [ { " + std::string(word) + ": 100 } ]; ";
  report_.error(key.at, "unknown key " + in_quotes(key.text) + " in " + what_ + "; " + hint +
                            accepted_words(word, accepted));
  if (const auto near = closest(word, accepted)) meant_.emplace(*near);
}

std::size_t Fields::index_of(std::string_view key) const {
  const auto found = std::ranges::find(node_.keys, key, &Node::Key::text);
  return static_cast<std::size_t>(found - node_.keys.begin());
}

const Node* Fields::find(std::string_view key) const {
  const std::size_t index = index_of(key);
  if (index == node_.keys.size() || node_.items[index].kind == Node::Kind::null) return nullptr;
  return &node_.items[index];
}

const Node* Fields::require(std::string_view key, std::string_view hint) const {
  if (is_map_ && !mentions(key)) {
    report_.error(node_.at, what_ + " has no " + std::string(key) + "; " + std::string(hint));
  }
  return find(key);
}

bool Fields::mentions(std::string_view key) const {
  return index_of(key) != node_.keys.size() || meant_.contains(key);
}

bool Fields::mentions_any(std::span<const std::string_view> keys) const {
  return std::ranges::any_of(keys, [&](std::string_view key) { return mentions(key); });
}

Mark Fields::mark(std::string_view key) const {
  const std::size_t index = index_of(key);
  return index == node_.keys.size() ? node_.at : node_.keys[index].at;
}

std::span<const Node> list_items(const Node& node, std::string_view what, std::size_t max, Report& report) {
  if (node.kind != Node::Kind::list) {
    const bool map = node.kind == Node::Kind::map;
    report.error(node.at, std::string(what) + " must be a list, such as " +
                              (map ? "[ { ... }, { ... } ], or of items behind '- '" : "[a, b]"));
    return {};
  }
  if (node.items.empty())
    report.error(node.at, std::string(what) + " is an empty list; remove it or fill it");
  if (node.items.size() > max) {
    report.error(node.items[max].at, std::string(what) + " holds " + std::to_string(node.items.size()) +
                                         " items; accepted: at most " + std::to_string(max));
  }
  return std::span(node.items).first(std::min(max, node.items.size()));
}

}  // namespace dripgate::config
