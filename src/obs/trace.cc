// W3C Trace Context.
#include "obs/trace.h"

namespace dripgate::obs {

namespace {

constexpr std::string_view kHex = "0123456789abcdef";

bool lower_hex(std::string_view text) {
  return text.find_first_not_of(kHex) == std::string_view::npos;
}

bool all_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

}  // namespace

std::optional<TraceParent> parse_traceparent(std::string_view text) {
  static constexpr std::size_t kLength = 55;  // 00-<32>-<16>-<2>
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  if (!lower_hex(version) || version == "ff") return std::nullopt;
  // Version 00 ends here; a later one may go on, after a dash.
  if (text.size() > kLength && (version == "00" || text[kLength] != '-')) return std::nullopt;
  const std::string_view trace = text.substr(3, 32);
  const std::string_view parent = text.substr(36, 16);
  const std::string_view flags = text.substr(53, 2);
  if (!lower_hex(trace) || !lower_hex(parent) || !lower_hex(flags)) return std::nullopt;
  if (all_zero(trace) || all_zero(parent)) return std::nullopt;
  const auto byte = kHex.find(flags[0]) * 16 + kHex.find(flags[1]);
  return TraceParent{.trace_id = std::string(trace),
                     .parent_id = std::string(parent),
                     .flags = static_cast<std::uint8_t>(byte)};
}

}  // namespace dripgate::obs
