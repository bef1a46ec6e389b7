// W3C Trace Context: is a traceparent one. It travels with its event as it is. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dripgate::obs {

struct TraceParent {
  std::string trace_id;   // 32 lower-case hex digits, not all zero
  std::string parent_id;  // 16 lower-case hex digits, not all zero
  std::uint8_t flags = 0;
};

/// Version 00, and later versions by their first four fields. Empty: malformed, to be ignored.
[[nodiscard]] std::optional<TraceParent> parse_traceparent(std::string_view text);

}  // namespace dripgate::obs
