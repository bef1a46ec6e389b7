#include "broker/redis_streams/entry_codec.h"

#include <cstdint>

#include "broker/attributes_codec.h"

namespace dripgate::broker::redis_streams {
namespace {

constexpr char kForm = '1';

template <class Number>
void put(std::string& bytes, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    bytes.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i)));
}

template <class Number>
std::optional<Number> take(std::string_view& bytes) {
  if (bytes.size() < sizeof(Number)) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  bytes.remove_prefix(sizeof(Number));
  return static_cast<Number>(value);
}

std::optional<std::string_view> take_text(std::string_view& bytes) {
  const auto size = take<std::uint32_t>(bytes);
  if (!size || *size > bytes.size()) return std::nullopt;
  const std::string_view text = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  return text;
}

}  // namespace

std::string encode_entry(const TimerEntry& entry) {
  const Message& message = entry.message;
  std::string attributes;
  encode_attributes(message.attributes, attributes);
  std::string bytes(1, kForm);
  bytes.reserve(32 + message.id.size() + attributes.size() + message.body.size());
  put(bytes, to_us(entry.due));
  put(bytes, to_us(message.published));
  put(bytes, static_cast<std::uint32_t>(message.id.size()));
  bytes += message.id;
  put(bytes, static_cast<std::uint32_t>(attributes.size()));
  bytes += attributes;
  return bytes += message.body;
}

std::optional<TimerEntry> decode_entry(std::string id, std::string_view bytes) {
  if (bytes.empty() || bytes.front() != kForm) return std::nullopt;
  bytes.remove_prefix(1);
  const auto due = take<std::int64_t>(bytes);
  const auto published = take<std::int64_t>(bytes);
  const auto message_id = take_text(bytes);
  const auto attributes = take_text(bytes);
  if (!due || !published || !message_id || !attributes) return std::nullopt;
  TimerEntry entry{.id = std::move(id), .due = from_us(*due), .message = {}};
  entry.message.id = *message_id;
  entry.message.published = from_us(*published);
  if (auto decoded = decode_attributes(*attributes)) {
    entry.message.attributes = std::move(*decoded);
  } else {
    set(entry.message.attributes, kDamagedAttribute, "true");
  }
  entry.message.body = bytes;
  return entry;
}

}  // namespace dripgate::broker::redis_streams
