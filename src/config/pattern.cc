// Patterns of `match`: see pattern.h.
#include "config/pattern.h"

#include <algorithm>

#include "base/small_letters.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

using Segment = RoutePattern::Segment;

constexpr std::string_view kRouteForms =
    "accepted: a path with or without a method, such as 'POST /auth/login', 'GET /users/{id}' or '/api/**'";

std::unexpected<Error> refuse_route(std::string_view text, std::string_view why) {
  return fail(ErrorCode::invalid_argument,
              "route " + in_quotes(text) + ": " + std::string(why) + "; " + std::string(kRouteForms));
}

// Splits "/a/b" into a and b; "/" is one empty segment.
std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> segments;
  if (path.starts_with('/')) path.remove_prefix(1);
  while (segments.size() < kRouteSegmentsMax) {
    const std::size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return segments;
}

Result<Segment> parse_segment(std::string_view segment, std::string_view text, bool last) {
  if (segment == "**" && last) return Segment{Segment::Kind::rest, {}};
  if (segment == "**") return refuse_route(text, "'**' stands for all that follows, so it comes last");
  if (segment == "*") return Segment{Segment::Kind::one, {}};
  const bool braces = segment.size() > 2 && segment.front() == '{' && segment.back() == '}' &&
                      segment.find_first_of("{}", 1) == segment.size() - 1;
  if (braces) return Segment{Segment::Kind::one, {}};
  if (segment.find_first_of("{}*") != std::string_view::npos) {
    return refuse_route(text, "'{name}', '*' and '**' stand for whole segments");
  }
  return Segment{Segment::Kind::literal, std::string(segment)};
}

bool unify(const Segment& a, const Segment& b) {
  if (a.kind == Segment::Kind::one) return b.kind == Segment::Kind::one || !b.text.empty();
  if (b.kind == Segment::Kind::one) return !a.text.empty();
  return a.text == b.text;
}

bool overlap(const RoutePattern& a, const RoutePattern& b) {
  if (!a.method.empty() && !b.method.empty() && a.method != b.method) return false;
  std::size_t i = 0;
  for (; i < a.segments.size() && i < b.segments.size(); ++i) {
    if (a.segments[i].kind == Segment::Kind::rest || b.segments[i].kind == Segment::Kind::rest) return true;
    if (!unify(a.segments[i], b.segments[i])) return false;
  }
  const auto ends_here = [&](const RoutePattern& p) {
    return i == p.segments.size() || p.segments[i].kind == Segment::Kind::rest;
  };
  return ends_here(a) && ends_here(b);
}

bool overlap(const ValuePattern& a, const ValuePattern& b) {
  using enum ValuePattern::Kind;
  if (a.kind == present || b.kind == present) return true;
  if (a.kind == exact) return matches(b, a.text);
  if (b.kind == exact) return matches(a, b.text);
  return a.text.starts_with(b.text) || b.text.starts_with(a.text);
}

bool is_exact(const RoutePattern& pattern) {
  const auto literal = [](const Segment& s) { return s.kind == Segment::Kind::literal; };
  return !pattern.method.empty() && std::ranges::all_of(pattern.segments, literal);
}

// The method too: a value is turned as a whole.
CompiledTerm ignoring_case(CompiledTerm term) {
  const auto turn = [](std::string& text) { text = small_letters(text); };
  for (ValuePattern& value : term.values) turn(value.text);
  for (RoutePattern& route : term.routes) {
    turn(route.method);
    for (Segment& segment : route.segments) turn(segment.text);
  }
  term.ignore_case = true;
  return term;
}

std::size_t literal_bytes(const RoutePattern& pattern) {
  std::size_t bytes = pattern.method.size();
  for (const Segment& segment : pattern.segments) {
    bytes += segment.kind == Segment::Kind::rest ? 0 : 1 + segment.text.size();
  }
  return bytes;
}

}  // namespace

Result<ValuePattern> parse_value_pattern(std::string_view text) {
  const std::size_t star = text.find('*');
  if (star == std::string_view::npos) return ValuePattern{ValuePattern::Kind::exact, std::string(text)};
  if (star + 1 != text.size()) {
    return fail(ErrorCode::invalid_argument, "pattern " + in_quotes(text) +
                                                 " has '*' before its end; accepted: a value, a prefix such "
                                                 "as acme-*, or * for any value");
  }
  if (text.size() == 1) return ValuePattern{ValuePattern::Kind::present, {}};
  return ValuePattern{ValuePattern::Kind::prefix, std::string(text.substr(0, star))};
}

Result<RoutePattern> parse_route_pattern(std::string_view text) {
  RoutePattern pattern;
  const std::size_t space = text.find(' ');
  std::string_view path = text;
  if (space != std::string_view::npos) {
    pattern.method = text.substr(0, space);
    path = text.substr(space + 1);
    const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (pattern.method.empty() || !std::ranges::all_of(pattern.method, upper)) {
      return refuse_route(text, "the method is written in capital letters, with one space behind it");
    }
  }
  if (!path.starts_with('/')) return refuse_route(text, "the path starts with '/'");
  if (path.find_first_of(" ?#") != std::string_view::npos) {
    return refuse_route(text, "a path has no space, '?' or '#'");
  }
  const auto segments = split_path(path);
  if (segments.size() == kRouteSegmentsMax) return refuse_route(text, "the path has too many segments");
  for (std::size_t i = 0; i < segments.size(); ++i) {
    auto segment = parse_segment(segments[i], text, i + 1 == segments.size());
    if (!segment) return std::unexpected(segment.error());
    pattern.segments.push_back(*std::move(segment));
  }
  return pattern;
}

Route split_route(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return {{}, split_path(text)};
  return {text.substr(0, space), split_path(text.substr(space + 1))};
}

bool matches(const ValuePattern& pattern, std::string_view value) {
  switch (pattern.kind) {
    case ValuePattern::Kind::exact:
      return value == pattern.text;
    case ValuePattern::Kind::prefix:
      return value.starts_with(pattern.text);
    case ValuePattern::Kind::present:
      return !value.empty();  // an empty value counts as missing
  }
  return false;
}

bool matches(const RoutePattern& pattern, const Route& route) {
  if (!pattern.method.empty() && pattern.method != route.method) return false;
  for (std::size_t i = 0; i < pattern.segments.size(); ++i) {
    const Segment& segment = pattern.segments[i];
    if (segment.kind == Segment::Kind::rest) return true;
    if (i >= route.segments.size()) return false;
    const std::string_view value = route.segments[i];
    if (segment.kind == Segment::Kind::one ? value.empty() : value != segment.text) return false;
  }
  return pattern.segments.size() == route.segments.size();
}

CompiledTerm compile(const core::MatchTerm& term) {
  CompiledTerm compiled;
  compiled.name = term.name;
  for (const std::string& text : term.patterns) {
    if (term.name == "route" && text != "*") {
      if (auto route = parse_route_pattern(text)) compiled.routes.push_back(*std::move(route));
    } else if (auto value = parse_value_pattern(text)) {
      compiled.values.push_back(*std::move(value));
    }
  }
  return term.ignore_case ? ignoring_case(std::move(compiled)) : compiled;
}

bool matches(const CompiledTerm& term, std::string_view text) {
  const std::string small = term.ignore_case ? small_letters(text) : std::string();
  const std::string_view value = term.ignore_case ? small : text;
  if (std::ranges::any_of(term.values, [&](const auto& pattern) { return matches(pattern, value); })) {
    return true;
  }
  if (term.routes.empty()) return false;
  const Route route = split_route(value);
  return std::ranges::any_of(term.routes, [&](const auto& pattern) { return matches(pattern, route); });
}

bool overlap(const CompiledTerm& a, const CompiledTerm& b) {
  if (a.ignore_case != b.ignore_case) return overlap(ignoring_case(a), ignoring_case(b));
  const auto present = [](const ValuePattern& v) { return v.kind == ValuePattern::Kind::present; };
  if (std::ranges::any_of(a.values, present) || std::ranges::any_of(b.values, present)) return true;
  const auto any_pair = [](const auto& left, const auto& right) {
    return std::ranges::any_of(left, [&](const auto& l) {
      return std::ranges::any_of(right, [&](const auto& r) { return overlap(l, r); });
    });
  };
  return any_pair(a.values, b.values) || any_pair(a.routes, b.routes);
}

bool is_exact(const CompiledTerm& term) {
  const auto exact = [](const ValuePattern& v) { return v.kind == ValuePattern::Kind::exact; };
  return std::ranges::all_of(term.values, exact) &&
         std::ranges::all_of(term.routes, [](const RoutePattern& r) { return is_exact(r); });
}

std::size_t literal_bytes(const CompiledTerm& term) {
  std::size_t fewest = std::string::npos;
  for (const auto& value : term.values) fewest = std::min(fewest, value.text.size());
  for (const auto& route : term.routes) fewest = std::min(fewest, literal_bytes(route));
  return fewest == std::string::npos ? 0 : fewest;
}

}  // namespace dripgate::config
