#include "redis/slots.h"

#include <array>

namespace dripgate::redis {
namespace {

// CRC-16/XMODEM: polynomial 0x1021, start 0.
constexpr std::array<std::uint16_t, 256> kTable = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

std::string_view hashed_part(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;  // an empty tag is none
  return key.substr(open + 1, close - open - 1);
}

}  // namespace

std::uint16_t slot_of(std::string_view key) {
  unsigned crc = 0;
  for (const char c : hashed_part(key)) {
    crc = ((crc << 8) & 0xFFFF) ^ kTable[((crc >> 8) ^ static_cast<unsigned char>(c)) & 0xFF];
  }
  return static_cast<std::uint16_t>(crc % kSlotCount);
}

}  // namespace dripgate::redis
