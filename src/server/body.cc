#include "server/body.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "base/rfc3339.h"

namespace dripgate::server {

namespace {

constexpr double kSpanUsMax = 10.0 * 366 * 86'400 * 1e6;

std::string listed(std::initializer_list<std::string_view> words) {
  std::string out;
  for (const std::string_view word : words) {
    if (!out.empty()) out += ", ";
    out += word;
  }
  return out.empty() ? "none" : out;
}

bool among(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, name) != words.end();
}

}  // namespace

Result<nlohmann::json> read_object(std::string_view body, std::initializer_list<std::string_view> accepted,
                                   std::size_t bytes_max) {
  if (body.empty()) return nlohmann::json::object();
  if (body.size() > bytes_max) {
    return fail(ErrorCode::too_large, "the body is over " + std::to_string(bytes_max) + " bytes");
  }
  // Of two members with one name the parser would keep the last, and the writer may have meant the first.
  std::set<std::string> names;
  std::string twice;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, const nlohmann::json& name) {
    const bool member = depth == 1 && event == nlohmann::json::parse_event_t::key;
    if (member && !names.insert(name.get<std::string>()).second) twice = name.get<std::string>();
    return true;
  };
  auto object = nlohmann::json::parse(body, watch, false);
  if (!object.is_object()) {
    return fail(ErrorCode::invalid_argument,
                "the body is not a JSON object; accepted members: " + listed(accepted));
  }
  if (!twice.empty()) return fail(ErrorCode::invalid_argument, "member '" + twice + "' is there twice");
  for (const auto& [name, value] : object.items()) {
    if (among(name, accepted)) continue;
    return fail(ErrorCode::invalid_argument, "unknown member '" + name + "'; accepted: " + listed(accepted));
  }
  return object;
}

Result<void> check_query(const http::Target& target, std::initializer_list<std::string_view> accepted) {
  for (std::size_t i = 0; i < target.query.size(); ++i) {
    const std::string& name = target.query[i].first;
    if (!among(name, accepted)) {
      return fail(ErrorCode::invalid_argument,
                  "unknown query parameter '" + name + "'; accepted: " + listed(accepted));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (target.query[j].first == name) {
        return fail(ErrorCode::invalid_argument, "query parameter '" + name + "' is there twice");
      }
    }
  }
  return {};
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<std::uint64_t> query_number(const http::Target& target, std::string_view name, std::uint64_t otherwise,
                                   std::uint64_t min, std::uint64_t max) {
  const auto it = std::ranges::find(target.query, name, &std::pair<std::string, std::string>::first);
  if (it == target.query.end()) return otherwise;
  const auto number = parse_number(it->second);
  if (number && *number >= min && *number <= max) return *number;
  return fail(ErrorCode::invalid_argument, std::string(name) + " is '" + it->second +
                                               "'; accepted: a whole number from " + std::to_string(min) +
                                               " to " + std::to_string(max));
}

Result<WallTime> read_freeze_end(std::string_view body_text, WallTime now) {
  static constexpr const char* kAccepted =
      R"(accepted: {"until": "2026-08-03T14:02:00Z"} or {"for": "30s"}, one of them)";
  const auto body = read_object(body_text, {"until", "for"});
  if (!body) return std::unexpected(body.error());
  if (body->size() != 1 || !body->begin()->is_string()) return fail(ErrorCode::invalid_argument, kAccepted);
  const std::string text = body->begin()->get<std::string>();
  if (body->contains("for")) {
    const auto span = parse_span(text);
    if (!span) return std::unexpected(span.error());
    return now + *span;
  }
  const auto until = parse_rfc3339(text);
  if (!until) return std::unexpected(until.error());
  if (*until > now) return *until;
  return fail(ErrorCode::invalid_argument,
              "until is '" + text + "', which is past; to end a freeze: POST .../thaw");
}

Result<Duration> parse_span(std::string_view text) {
  double number = 0;
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double us = unit == "ms"  ? 1e3
                    : unit == "s" ? 1e6
                    : unit == "m" ? 60e6
                    : unit == "h" ? 3600e6
                    : unit == "d" ? 86'400e6
                                  : 0;
  const double span = number * us;
  if (code == std::errc{} && us > 0 && std::isfinite(span) && span >= 0 && span <= kSpanUsMax) {
    return Duration{std::llround(span)};
  }
  return fail(
      ErrorCode::invalid_argument,
      "'" + std::string(text) + "' is not a duration; accepted: a number and ms, s, m, h or d, like 30s");
}

}  // namespace dripgate::server
