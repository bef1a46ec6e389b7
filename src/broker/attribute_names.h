// The attributes that Dripgate itself gives a message, as topics, timers and HTTP sinks see them; every other
// attribute is the source's. Pure.
#pragma once

#include <string_view>

namespace dripgate::broker {

/// Attributes that begin so, in any case of letters, are Dripgate's own; the source's are dropped on entry.
inline constexpr std::string_view kReservedPrefix = "dripgate-";
[[nodiscard]] bool is_reserved(std::string_view attribute);

/// How every other attribute is called as a header, of ingest and of a delivery.
inline constexpr std::string_view kAttributeHeaderPrefix = "dripgate-attr-";

// Of a delivery.
inline constexpr std::string_view kIdAttribute = "dripgate-id";  // HTTP ingest takes it as a header too
inline constexpr std::string_view kStreamAttribute = "dripgate-stream";
inline constexpr std::string_view kKeyAttribute = "dripgate-key";  // as the stream's template renders it
inline constexpr std::string_view kAttemptAttribute = "dripgate-attempt";    // 1: the first
inline constexpr std::string_view kSlotAttribute = "dripgate-slot";          // RFC 3339
inline constexpr std::string_view kReleasedAttribute = "dripgate-released";  // RFC 3339
inline constexpr std::string_view kHopsAttribute = "dripgate-hops";          // sinks it has gone through

/// Set by HTTP ingest on a source message: the id that the caller gave this event.
inline constexpr std::string_view kGivenIdAttribute = "dripgate-event-id";
/// Set on a message whose stored attributes are damaged: it still goes out, with its body, for somebody to
/// see.
inline constexpr std::string_view kDamagedAttribute = "dripgate-damaged-attributes";

}  // namespace dripgate::broker
