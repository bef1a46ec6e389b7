// Match index: finds the few policies whose most selective term a request may satisfy, so that matching does
// not walk all of them. It may name too many, never too few: the matcher checks each. Immutable once built.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "config/pattern.h"
#include "core/policy.h"

namespace dripgate::config {

using Rank = std::uint32_t;  // a policy's place in the order of specificity
using Ranks = std::vector<Rank>;
using FoundRanks = absl::InlinedVector<Rank, 16>;

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class T>
using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

/// Policies by the path of a route pattern, one level per segment.
class RouteTree {
 public:
  void add(const RoutePattern& pattern, Rank rank);
  void find(const Route& route, FoundRanks& found) const;

 private:
  struct Level {
    ByText<std::unique_ptr<Level>> literal;
    std::unique_ptr<Level> one;
    Ranks here;  // patterns that end at this level
    Ranks rest;  // patterns with "**" from this level on
  };
  static void find(const Level& level, const Route& route, std::size_t depth, FoundRanks& found);
  Level root_;
};

class MatchIndex {
 public:
  /// Files a policy under one of its terms; null: under none, so that every request finds it.
  void add(const CompiledTerm* term, Rank rank);
  /// Ascending, each once.
  [[nodiscard]] FoundRanks find(const core::Descriptor& request) const;

 private:
  struct OneName {
    ByText<Ranks> exact;
    std::map<std::size_t, ByText<Ranks>> prefixes;  // by length
    Ranks present;
    RouteTree routes;
    bool has_routes = false;
  };
  using Names = std::map<std::string, OneName, std::less<>>;
  static void find(const OneName& name, std::string_view value, FoundRanks& found);

  Names names_;
  Names small_;  // whose texts are in small letters: values are turned before they are looked up
  Ranks always_;
};

}  // namespace dripgate::config
