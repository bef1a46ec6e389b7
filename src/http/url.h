// URLs and request targets: the little that the product needs, pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dripgate::http {

struct Url {
  bool tls = false;
  std::string host;  // without brackets
  std::uint16_t port = 80;
  std::string target;  // path and query, at least "/"

  /// "127.0.0.1:8080", "[::1]", "example.com": the Host header.
  [[nodiscard]] std::string authority() const;
};

/// http:// and https:// only; no user names, no fragment. Errors: invalid_argument.
[[nodiscard]] Result<Url> parse_url(std::string_view text);

/// Empty: a '%' without two hex digits.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);
/// Everything but letters, digits and "-._~" becomes %XX: fit for one path segment.
[[nodiscard]] std::string percent_encode(std::string_view text);

struct Target {
  std::vector<std::string> segments;  // decoded: "/v1/streams/a%2Fb" -> {"v1", "streams", "a/b"}
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
};
/// Empty: not an absolute path, or badly encoded. A trailing '/' makes an empty last segment.
[[nodiscard]] std::optional<Target> parse_target(std::string_view target);

}  // namespace dripgate::http
