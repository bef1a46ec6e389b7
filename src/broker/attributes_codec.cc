// LEB128 lengths and raw bytes.
#include "broker/attributes_codec.h"

#include <cstdint>

namespace dripgate::broker {
namespace {

constexpr int kLengthBitsMax = 63;

void put_length(std::string& bytes, std::uint64_t value) {
  while (value >= 0x80) {
    bytes.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  bytes.push_back(static_cast<char>(value));
}

std::optional<std::uint64_t> take_length(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < kLengthBitsMax && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> take_text(std::string_view& bytes) {
  const auto length = take_length(bytes);
  if (!length || *length > bytes.size()) return std::nullopt;
  const std::string_view text = bytes.substr(0, *length);
  bytes.remove_prefix(*length);
  return text;
}

}  // namespace

void encode_attributes(const Attributes& attributes, std::string& bytes) {
  bytes.clear();
  put_length(bytes, attributes.size());
  for (const auto& [name, value] : attributes) {
    put_length(bytes, name.size());
    bytes += name;
    put_length(bytes, value.size());
    bytes += value;
  }
}

std::optional<Attributes> decode_attributes(std::string_view bytes) {
  const auto count = take_length(bytes);
  // Each pair takes two bytes at least: a wrong count must not reserve memory.
  if (!count || *count > bytes.size() / 2) return std::nullopt;
  Attributes attributes;
  attributes.reserve(*count);
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto name = take_text(bytes);
    const auto value = take_text(bytes);
    if (!name || !value) return std::nullopt;
    attributes.emplace_back(*name, *value);
  }
  if (!bytes.empty()) return std::nullopt;
  return attributes;
}

}  // namespace dripgate::broker
