// Which of a cluster's slots a key is in: CRC16 of its hash tag ("{...}"), or of all of it. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace dripgate::redis {

inline constexpr std::uint16_t kSlotCount = 16384;

/// Below kSlotCount.
[[nodiscard]] std::uint16_t slot_of(std::string_view key);

}  // namespace dripgate::redis
