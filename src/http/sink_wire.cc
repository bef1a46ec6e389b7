// What a delivery looks like on the wire and what its answer means. Pure.
#include <algorithm>
#include <charconv>

#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include "broker/attribute_names.h"
#include "http/http_sink.h"

namespace dripgate::http {

using broker::SinkAnswer;
using broker::SinkVerdict;

namespace {

// A hint beyond this is somebody's mistake; it must not park events for years.
constexpr Duration kRetryAfterMax = std::chrono::hours{24};

bool token_text(std::string_view name) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  for (const char c : name) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!word && !kMarks.contains(c)) return false;
  }
  return !name.empty();
}

// Ids may hold any byte; a header may not: control characters, blanks at the ends and '%' travel as %XX, so
// that two ids never look alike. Keys are escaped already (core/counter_key.h), and their '%' stays.
std::string header_value(std::string_view text, bool escaped_already) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    const bool at_an_end = c == ' ' && (i == 0 || i + 1 == text.size());
    if (byte >= ' ' && byte != 0x7f && !at_an_end && (c != '%' || escaped_already)) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

}  // namespace

std::optional<Duration> parse_retry_after(std::string_view text, WallTime now) {
  std::int64_t seconds = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (end == text.data() + text.size() && !text.empty() && text[0] != '-') {
    if (code == std::errc::result_out_of_range) return kRetryAfterMax;
    return std::min<Duration>(std::chrono::seconds{std::min<std::int64_t>(seconds, 86'400)}, kRetryAfterMax);
  }
  absl::Time date;
  static constexpr const char* kForms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                           "%a %b %e %H:%M:%S %Y"};
  for (const char* form : kForms) {
    if (!absl::ParseTime(form, absl::string_view(text.data(), text.size()), &date, nullptr)) continue;
    const Duration wait{absl::ToUnixMicros(date) - to_us(now)};
    return std::clamp<Duration>(wait, Duration{0}, kRetryAfterMax);
  }
  return std::nullopt;
}

SinkAnswer verdict_of(const Response& response, WallTime now) {
  SinkAnswer answer{.verdict = SinkVerdict::refused,
                    .retry_after = std::nullopt,
                    .detail = "HTTP " + std::to_string(response.status),
                    .status = response.status};
  const int status = response.status;
  if (status >= 200 && status < 300) answer.verdict = SinkVerdict::confirmed;
  if (status == 429) answer.verdict = SinkVerdict::rate_limited;
  if (status == 408 || status == 425 || status >= 500) answer.verdict = SinkVerdict::failed;
  const std::string* hint = find(response.headers, "Retry-After");
  if (hint != nullptr &&
      (answer.verdict == SinkVerdict::rate_limited || answer.verdict == SinkVerdict::failed)) {
    answer.retry_after = parse_retry_after(*hint, now);
  }
  if (status >= 300 && status < 400) answer.detail += ": redirects are not followed";
  return answer;
}

Headers delivery_headers(const broker::Attributes& attributes) {
  Headers headers;
  bool typed = false;
  for (const auto& [name, value] : attributes) {
    if (!token_text(name)) continue;
    const bool content_type = same_name(name, "content-type");
    typed |= content_type;
    const bool as_it_is = content_type || broker::is_reserved(name) || same_name(name, "traceparent") ||
                          same_name(name, "tracestate");
    headers.emplace_back(as_it_is ? name : std::string(broker::kAttributeHeaderPrefix) + name,
                         header_value(value, !same_name(name, broker::kIdAttribute)));
  }
  if (!typed) headers.emplace_back("content-type", "application/json");
  return headers;
}

}  // namespace dripgate::http
