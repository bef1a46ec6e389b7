// W3C Trace Context: parse a traceparent and make a child of it. Pure: random bits come as an argument.
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

  [[nodiscard]] bool sampled() const { return (flags & 1) != 0; }
};

/// Version 00, and later versions by their first four fields. Empty: malformed, to be ignored.
[[nodiscard]] std::optional<TraceParent> parse_traceparent(std::string_view text);
[[nodiscard]] std::string to_string(const TraceParent& trace);
/// The same trace with our own span as the parent of what follows. A zero `span_id` counts as 1.
[[nodiscard]] TraceParent child_of(const TraceParent& trace, std::uint64_t span_id);

}  // namespace dripgate::obs
