// A timer entry as one value in Redis: due time, published, message id, attributes, body. Fixed-width
// lengths, nothing escaped. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "broker/timer.h"

namespace dripgate::broker::redis_streams {

[[nodiscard]] std::string encode_entry(const TimerEntry& entry);
/// Empty: the bytes were not written by encode_entry. Damaged attributes alone are marked, not refused.
[[nodiscard]] std::optional<TimerEntry> decode_entry(std::string id, std::string_view bytes);

}  // namespace dripgate::broker::redis_streams
