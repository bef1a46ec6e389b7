// RFC 3339 times in UTC: payloads, headers, logs, admin answers. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"

namespace dripgate {

enum class Fraction : std::uint8_t {
  if_not_zero,   // "2026-08-03T14:02:00Z"; else 3 digits where whole ms suffice, else 6
  milliseconds,  // "2026-08-03T14:02:00.000Z", always 3 digits, rounded down
};

/// Times outside the years 0000-9999 are shown as the nearest time inside.
[[nodiscard]] std::string format_rfc3339(WallTime time, Fraction fraction = Fraction::if_not_zero);

/// Strict: date, 'T', time, optional fraction, 'Z' or an offset. Digits beyond 1 us are cut off; second 60 is
/// taken only where a leap second can be. Error: invalid_argument.
[[nodiscard]] Result<WallTime> parse_rfc3339(std::string_view text);

}  // namespace dripgate
