// Names that the drip gives: digests, deterministic ids of timer entries and overflow messages.
// The same step of the same event has the same id whoever does it, so that a broker takes it once. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drip/event.h"

namespace dripgate::drip {

/// The event's id: the caller's, else the stream's template. Empty: neither names it. One longer than
/// kEventIdBytesMax becomes "~" and its SHA-256.
[[nodiscard]] std::string event_id(std::string_view given, const core::Stream& stream,
                                   const core::KeyTemplate::Lookup& lookup);

/// Of the original bytes: the same event id with another digest is a conflict.
[[nodiscard]] std::uint64_t body_digest(std::string_view bytes);

/// The timer entry of the booking `event.generation`.
[[nodiscard]] std::string gate_entry_id(const Event& event);
/// The timer entry of the next delivery after event.attempts failures and event.deferrals deferrals.
[[nodiscard]] std::string retry_entry_id(const Event& event);
/// The overflow message of this release.
[[nodiscard]] std::string overflow_message_id(const Event& event);
/// The id a letter gets whose event id belongs to another body.
[[nodiscard]] std::string conflict_id(const Event& event);

}  // namespace dripgate::drip
