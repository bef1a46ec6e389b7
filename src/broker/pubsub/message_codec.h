// Messages as Pub/Sub takes them, and back. What it does not take as an attribute (other than UTF-8, no name,
// a long value, more than a hundred) travels packed in attributes of ours, so that every byte arrives. Pure.
#pragma once

#include <cstddef>

#include "broker/message.h"
#include "broker/pubsub/transport.h"

namespace dripgate::broker::pubsub {

// Bounds of Pub/Sub, as documented; a message below kMessageBytesMax leaves room for the request around it.
inline constexpr std::size_t kMessageBytesMax = 9'500'000;
inline constexpr std::size_t kAttributesMax = 100;
inline constexpr std::size_t kAttributeNameBytesMax = 256;
inline constexpr std::size_t kAttributeValueBytesMax = 1024;
inline constexpr std::size_t kOrderingKeyBytesMax = 1024;

/// The ordering key of a message, as an attribute of it: nobody else can set one that begins with "goog".
inline constexpr std::string_view kOrderingKeyAttribute = "goog-ordering-key";

/// Errors: too_large.
[[nodiscard]] Result<WireMessage> to_wire(Message message);
/// Attributes by name, as Pub/Sub keeps no order. The id is the one that to_wire() was given, else Pub/Sub's.
[[nodiscard]] Message from_wire(WireMessage message);
/// What it counts as in a request.
[[nodiscard]] std::size_t wire_bytes(const WireMessage& message);

}  // namespace dripgate::broker::pubsub
