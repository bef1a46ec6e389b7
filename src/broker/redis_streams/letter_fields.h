// A dead letter as the words of letter_add.lua, and back from its entry. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "broker/dead_letter.h"
#include "broker/redis_streams/replies.h"

namespace dripgate::broker::redis_streams {

/// Name (16 bytes of SHA-256 over event id, generation and body), dead_at in us, then names and values.
[[nodiscard]] std::vector<std::string> letter_words(DeadLetter letter);
/// Empty: not what letter_add.lua wrote.
[[nodiscard]] std::optional<DeadLetter> letter_of(StreamEntry entry);

}  // namespace dripgate::broker::redis_streams
