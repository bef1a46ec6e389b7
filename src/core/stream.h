// Stream: what the drip promises for one source of events, as loaded. Immutable once in a snapshot; a reload
// makes a new one.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/booking_types.h"
#include "core/key_template.h"

namespace dripgate::core {

enum class StreamMissingKey : std::uint8_t { default_key, dead_letter };

struct Stream {
  std::string id;
  KeyTemplate key;
  std::optional<KeyTemplate> event_id;  // empty: the source's message id
  std::optional<KeyTemplate> cost;      // empty: 1; must render a whole number >= 1
  BookingPolicyPtr booking;
  StreamMissingKey on_missing_key = StreamMissingKey::default_key;
  std::string overflow_topic;
  std::string dead_letter_topic;
  Duration dead_letter_retention = std::chrono::hours{24 * 14};
  int max_attempts = 8;      // delivery attempts at the sink before the dead letter queue
  bool retries_cost = true;  // every further attempt goes through the gate; false: `retryCost: 0`
};
using StreamPtr = std::shared_ptr<const Stream>;

}  // namespace dripgate::core
