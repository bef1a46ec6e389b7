// What a request says in its query or small JSON body. Pure. Errors: invalid_argument, naming what is
// accepted.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "base/time.h"
#include "http/url.h"

namespace dripgate::server {

/// Of a route that takes a JSON body: a few members.
inline constexpr std::size_t kAdminBodyBytesMax = 16u << 10;

/// An object with no other members than these, each once; an empty body is an empty object.
[[nodiscard]] Result<nlohmann::json> read_object(std::string_view body,
                                                 std::initializer_list<std::string_view> accepted,
                                                 std::size_t bytes_max = kAdminBodyBytesMax);
/// The query has no other names than these, each once.
[[nodiscard]] Result<void> check_query(const http::Target& target,
                                       std::initializer_list<std::string_view> accepted);
[[nodiscard]] Result<std::uint64_t> query_number(const http::Target& target, std::string_view name,
                                                 std::uint64_t otherwise, std::uint64_t min,
                                                 std::uint64_t max);
/// {"until": RFC 3339, later than now} or {"for": "30s"}, one of them.
[[nodiscard]] Result<WallTime> read_freeze_end(std::string_view body, WallTime now);
/// "30s", "1.5h", "500ms", "2d"; 0 or more, at most 10 years.
[[nodiscard]] Result<Duration> parse_span(std::string_view text);
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text);

}  // namespace dripgate::server
