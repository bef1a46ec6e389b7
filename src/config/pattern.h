// Patterns of `match`: an exact value, a prefix ("acme-*"), presence ("*"), and routes ("POST /auth/login",
// "GET /users/{id}", "/api/**"). Routes are compared as they are written: nothing is normalised here. Used by
// the policy reader (to check), the matcher and the lint (to compare). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/policy.h"

namespace dripgate::config {

struct ValuePattern {
  enum class Kind : std::uint8_t { exact, prefix, present };
  Kind kind = Kind::exact;
  std::string text;  // without the '*'
};

struct RoutePattern {
  struct Segment {
    enum class Kind : std::uint8_t { literal, one, rest };
    Kind kind = Kind::literal;
    std::string text;
  };
  std::string method;  // empty: any
  std::vector<Segment> segments;
};

/// Segments of a route, pattern or request, at most.
inline constexpr std::size_t kRouteSegmentsMax = 64;

/// Errors: invalid_argument; detail says what is accepted.
[[nodiscard]] Result<ValuePattern> parse_value_pattern(std::string_view text);
[[nodiscard]] Result<RoutePattern> parse_route_pattern(std::string_view text);

/// A request's route: "POST /auth/login" or a bare path. Views into the text.
struct Route {
  std::string_view method;
  std::vector<std::string_view> segments;
};
[[nodiscard]] Route split_route(std::string_view text);

[[nodiscard]] bool matches(const ValuePattern& pattern, std::string_view value);
[[nodiscard]] bool matches(const RoutePattern& pattern, const Route& route);

/// One term with its patterns parsed.
struct CompiledTerm {
  std::string name;
  std::vector<ValuePattern> values;
  std::vector<RoutePattern> routes;  // only of the name `route`
  bool ignore_case = false;          // then all texts are in small letters
};
[[nodiscard]] CompiledTerm compile(const core::MatchTerm& term);
[[nodiscard]] bool matches(const CompiledTerm& term, std::string_view value);
/// Some value satisfies both.
[[nodiscard]] bool overlap(const CompiledTerm& a, const CompiledTerm& b);
/// The term names single values only.
[[nodiscard]] bool is_exact(const CompiledTerm& term);
/// Fewest literal bytes among the term's patterns.
[[nodiscard]] std::size_t literal_bytes(const CompiledTerm& term);

}  // namespace dripgate::config
