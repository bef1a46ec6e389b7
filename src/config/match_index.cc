// Match index: see match_index.h.
#include "config/match_index.h"

#include <algorithm>

#include "base/small_letters.h"

namespace dripgate::config {
namespace {

void append(FoundRanks& to, const Ranks& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

void RouteTree::add(const RoutePattern& pattern, Rank rank) {
  Level* level = &root_;
  for (const auto& segment : pattern.segments) {
    if (segment.kind == RoutePattern::Segment::Kind::rest) {
      level->rest.push_back(rank);
      return;
    }
    auto& next = segment.kind == RoutePattern::Segment::Kind::one ? level->one : level->literal[segment.text];
    if (!next) next = std::make_unique<Level>();
    level = next.get();
  }
  level->here.push_back(rank);
}

void RouteTree::find(const Route& route, FoundRanks& found) const {
  find(root_, route, 0, found);
}

// Recursion ends with the deepest pattern (kRouteSegmentsMax) and visits each level at most once per call.
void RouteTree::find(const Level& level, const Route& route, std::size_t depth, FoundRanks& found) {
  append(found, level.rest);
  if (depth == route.segments.size()) {
    append(found, level.here);
    return;
  }
  const auto literal = level.literal.find(route.segments[depth]);
  if (literal != level.literal.end()) find(*literal->second, route, depth + 1, found);
  if (level.one) find(*level.one, route, depth + 1, found);
}

void MatchIndex::add(const CompiledTerm* term, Rank rank) {
  if (term == nullptr) {
    always_.push_back(rank);
    return;
  }
  OneName& name = (term->ignore_case ? small_ : names_)[term->name];
  for (const ValuePattern& value : term->values) {
    switch (value.kind) {
      case ValuePattern::Kind::exact:
        name.exact[value.text].push_back(rank);
        break;
      case ValuePattern::Kind::prefix:
        name.prefixes[value.text.size()][value.text].push_back(rank);
        break;
      case ValuePattern::Kind::present:
        name.present.push_back(rank);
        break;
    }
  }
  for (const RoutePattern& route : term->routes) {
    name.routes.add(route, rank);
    name.has_routes = true;
  }
}

FoundRanks MatchIndex::find(const core::Descriptor& request) const {
  FoundRanks found(always_.begin(), always_.end());
  if (names_.size() < request.size()) {  // fewer look-ups the other way round
    for (const auto& [name, values] : names_) {
      const auto fact = request.find(name);
      if (fact != request.end()) find(values, fact->second, found);
    }
  } else {
    for (const auto& [name, value] : request) {
      const auto entry = names_.find(name);
      if (entry != names_.end()) find(entry->second, value, found);
    }
  }
  for (const auto& [name, values] : small_) {
    const auto fact = request.find(name);
    if (fact != request.end()) find(values, small_letters(fact->second), found);
  }
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

void MatchIndex::find(const OneName& name, std::string_view value, FoundRanks& found) {
  if (const auto exact = name.exact.find(value); exact != name.exact.end()) append(found, exact->second);
  for (const auto& [length, prefixes] : name.prefixes) {
    if (length > value.size()) break;
    const auto prefix = prefixes.find(value.substr(0, length));
    if (prefix != prefixes.end()) append(found, prefix->second);
  }
  if (!value.empty()) append(found, name.present);
  if (name.has_routes) name.routes.find(split_route(value), found);
}

}  // namespace dripgate::config
