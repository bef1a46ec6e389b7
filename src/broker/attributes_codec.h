// Attributes as bytes for brokers that keep them in one column: a count, then each name and value with its
// length before it (LEB128). No escaping, no JSON: this is on the path of every event. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "broker/message.h"

namespace dripgate::broker {

/// Replaces the content of `bytes`, so that a caller can reuse its buffer.
void encode_attributes(const Attributes& attributes, std::string& bytes);
/// Empty: the bytes were not written by encode_attributes.
[[nodiscard]] std::optional<Attributes> decode_attributes(std::string_view bytes);

}  // namespace dripgate::broker
