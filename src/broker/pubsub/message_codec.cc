#include "broker/pubsub/message_codec.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <openssl/evp.h>

#include "broker/attributes_codec.h"

namespace dripgate::broker::pubsub {
namespace {

constexpr std::string_view kIdAttribute = "dripgate-message-id";
/// Pub/Sub refuses a message with neither bytes nor attributes.
constexpr std::string_view kEmptyAttribute = "dripgate-empty";
constexpr std::string_view kPackedPrefix = "dripgate-packed-";
constexpr std::string_view kForbiddenPrefix = "goog";
/// Of the hundred, for what we add ourselves.
constexpr std::size_t kOwnAttributesMax = 2;
/// Of one attribute or message on the wire: tags and lengths.
constexpr std::size_t kFieldBytes = 8;

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xF0 && lead < 0xF5 ? 4
                                                             : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    const auto second = length > 1 ? static_cast<unsigned char>(text[i + 1]) : 0;
    // Overlong forms, surrogates, beyond U+10FFFF.
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90))
      return false;
    i += length;
  }
  return true;
}

bool fits(const std::string& name, const std::string& value) {
  return !name.empty() && name.size() <= kAttributeNameBytesMax && value.size() <= kAttributeValueBytesMax &&
         !name.starts_with(kForbiddenPrefix) && !name.starts_with(kPackedPrefix) && name != kIdAttribute &&
         name != kEmptyAttribute && is_utf8(name) && is_utf8(value);
}

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3 + 1, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (length < 0 || text.size() % 4 != 0) return std::nullopt;
  const auto padding = static_cast<std::size_t>(
      std::ranges::count(text.substr(text.size() - std::min<std::size_t>(2, text.size())), '='));
  bytes.resize(static_cast<std::size_t>(length) - padding);
  return bytes;
}

// Names of equal length, so that their order is that of their numbers.
std::string packed_name(std::size_t index) {
  return std::string(kPackedPrefix) + (index < 10 ? "0" : "") + std::to_string(index);
}

Result<void> pack(const Attributes& misfits, Attributes& attributes) {
  std::string bytes;
  encode_attributes(misfits, bytes);
  const std::string text = to_base64(bytes);
  const std::size_t parts = (text.size() + kAttributeValueBytesMax - 1) / kAttributeValueBytesMax;
  if (attributes.size() + parts + kOwnAttributesMax > kAttributesMax) {
    return fail(ErrorCode::too_large,
                "attributes that Pub/Sub does not take as they are have " + std::to_string(bytes.size()) +
                    " bytes; accepted: what fits beside the others into " + std::to_string(kAttributesMax) +
                    " attributes of " + std::to_string(kAttributeValueBytesMax) + " bytes");
  }
  for (std::size_t i = 0; i < parts; ++i) {
    attributes.emplace_back(packed_name(i),
                            text.substr(i * kAttributeValueBytesMax, kAttributeValueBytesMax));
  }
  return {};
}

void unpack(const std::string& text, Attributes& attributes) {
  if (text.empty()) return;
  const auto bytes = from_base64(text);
  auto misfits = bytes ? decode_attributes(*bytes) : std::nullopt;
  if (!misfits) return set(attributes, kDamagedAttribute, "true");
  for (auto& [name, value] : *misfits) attributes.emplace_back(std::move(name), std::move(value));
}

}  // namespace

Result<WireMessage> to_wire(Message message) {
  WireMessage wire;
  wire.data = std::move(message.body);
  Attributes misfits;
  const std::size_t room = kAttributesMax / 2;  // more are rare, and packing takes room itself
  for (auto& [name, value] : message.attributes) {
    if (name == kOrderingKeyAttribute && value.size() <= kOrderingKeyBytesMax && is_utf8(value)) {
      wire.ordering_key = std::move(value);
      continue;
    }
    auto& to = fits(name, value) && wire.attributes.size() < room ? wire.attributes : misfits;
    to.emplace_back(std::move(name), std::move(value));
  }
  if (!message.id.empty()) {
    fits("id", message.id) ? wire.attributes.emplace_back(kIdAttribute, std::move(message.id))
                           : misfits.emplace_back(kIdAttribute, std::move(message.id));
  }
  if (!misfits.empty()) {
    if (auto packed = pack(misfits, wire.attributes); !packed) return std::unexpected(packed.error());
  }
  if (wire.data.empty() && wire.attributes.empty()) wire.attributes.emplace_back(kEmptyAttribute, "true");
  if (const std::size_t bytes = wire_bytes(wire); bytes > kMessageBytesMax) {
    return fail(ErrorCode::too_large, "a message of " + std::to_string(bytes) +
                                          " bytes; accepted by Pub/Sub: at most " +
                                          std::to_string(kMessageBytesMax));
  }
  return wire;
}

Message from_wire(WireMessage wire) {
  Message message;
  message.published = wire.published;
  message.body = std::move(wire.data);
  std::ranges::sort(wire.attributes);
  std::string packed;
  for (auto& [name, value] : wire.attributes) {
    if (name == kEmptyAttribute) continue;
    if (name.starts_with(kPackedPrefix)) {
      packed += value;
      continue;
    }
    message.attributes.emplace_back(std::move(name), std::move(value));
  }
  unpack(packed, message.attributes);
  if (!wire.ordering_key.empty())
    set(message.attributes, kOrderingKeyAttribute, std::move(wire.ordering_key));
  const auto given =
      std::ranges::find(message.attributes, kIdAttribute, [](const auto& a) { return a.first; });
  if (given != message.attributes.end()) {
    message.id = std::move(given->second);
    message.attributes.erase(given);
  }
  if (message.id.empty()) message.id = std::move(wire.id);
  return message;
}

std::size_t wire_bytes(const WireMessage& message) {
  std::size_t bytes = message.data.size() + message.ordering_key.size() + kFieldBytes;
  for (const auto& [name, value] : message.attributes) bytes += name.size() + value.size() + kFieldBytes;
  return bytes;
}

}  // namespace dripgate::broker::pubsub
