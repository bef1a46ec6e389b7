// Every reason word of a dead letter and of a verdict: what operators filter by and metrics are labelled
// with. One word per cause; a new cause gets a new word here.
#pragma once

#include <string_view>

namespace dripgate::drip::reasons {

// Refused before the store was asked.
inline constexpr std::string_view kMalformedPayload =
    "malformed_payload";  // not JSON, or too deep, while a name needs it
inline constexpr std::string_view kMissingKey = "missing_key";
inline constexpr std::string_view kInvalidCost = "invalid_cost";
inline constexpr std::string_view kTooManyHops = "too_many_hops";
// Refused by the store.
inline constexpr std::string_view kIdConflict = "id_conflict";  // the same id with another body
inline constexpr std::string_view kBeyondHorizon = "beyond_horizon";
inline constexpr std::string_view kFrozenPastHorizon = "frozen_past_horizon";
inline constexpr std::string_view kCostExceedsLimit = "cost_exceeds_limit";
inline constexpr std::string_view kStoreRefused = "store_refused";  // the request itself is at fault
// Refused on the way.
inline constexpr std::string_view kTimerRefused = "timer_refused";
inline constexpr std::string_view kTooLarge = "too_large";    // for what the timer takes
inline constexpr std::string_view kClaimLost = "claim_lost";  // its bytes, kept beside the timer, are gone
inline constexpr std::string_view kOverflowRefused = "overflow_refused";
inline constexpr std::string_view kPoison =
    "poison";  // a fired or overflow payload that is not this stream's
// Refused by the sink.
inline constexpr std::string_view kRefusedBySink = "refused_by_sink";
inline constexpr std::string_view kAttemptsExhausted = "attempts_exhausted";

}  // namespace dripgate::drip::reasons
