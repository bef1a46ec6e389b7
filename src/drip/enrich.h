// Enrichment: the payload that timers and overflow topics carry (semantics.md section 6): the original JSON
// spliced byte for byte between our own members, and taken out again. Payloads that are not JSON travel as
// they are. Called by ticket. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "drip/event.h"
#include "drip/json_payload.h"

namespace dripgate::drip {

/// The enriched body; empty: the payload is not JSON and travels unchanged.
[[nodiscard]] std::optional<std::string> enrich(const Event& event, std::size_t deciding_limit,
                                                JsonPayload& json);

/// The original bytes, `payload_bytes` of them, out of an enriched body. Error: corrupt, when the frame
/// around them is not ours or names another overflow topic.
[[nodiscard]] Result<std::string> restore(std::string_view body, std::size_t payload_bytes,
                                          std::string_view overflow_topic, JsonPayload& json);

/// Changes with everything a booking depends on: limits, spread, horizon.
[[nodiscard]] std::string policy_version(const core::BookingPolicy& policy);

}  // namespace dripgate::drip
