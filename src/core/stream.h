// Stream: what the drip promises for one source of events, as loaded. Immutable once in a snapshot; a reload
// makes a new one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

/// What the store knows a key by: two streams never share a counter by accident. An id holds no ':'.
[[nodiscard]] inline std::string booking_key(std::string_view stream, std::string_view rendered_key) {
  std::string key(stream);
  return key.append(1, ':').append(rendered_key);
}
/// The key as the stream's template renders it, out of its booking key: what people and sinks see. Empty: not
/// a key of this stream.
[[nodiscard]] inline std::string_view rendered_key(std::string_view stream, std::string_view booking_key) {
  const bool own = booking_key.starts_with(stream) && booking_key.substr(stream.size()).starts_with(':');
  return own ? booking_key.substr(stream.size() + 1) : std::string_view();
}

}  // namespace dripgate::core
