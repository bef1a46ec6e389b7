// Numbers of a token bucket (limit, window, capacity) that are common enough to be named by four digits. A
// bucket under such numbers is one integer in Redis (16 bytes instead of 64 and the fast scripts); under all
// others it is a text that spells them out. Pure. The tables stand in lua/lib_counter.lua too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/counter.h"

namespace dripgate::store {

/// Stored times of such buckets count from here (us since 1970), so that 15 digits last until 2049; later
/// ones work too, and take more room.
inline constexpr std::int64_t kArrivalEpoch = 1'600'000'000'000'000;

/// Empty: not common, or a unit takes no whole number of us to refill.
[[nodiscard]] std::string counter_code(const core::Limit& limit);
/// Empty: not four digits of counter_code.
[[nodiscard]] std::optional<core::WrittenUnder> numbers_of_code(std::string_view code);

}  // namespace dripgate::store
