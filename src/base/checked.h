// Arithmetic that never wraps: products of caller-controlled numbers are Wide, what comes back is saturated;
// division that rounds towards the named side. Pure, any thread.
#pragma once

#include <cstdint>
#include <limits>

namespace dripgate {

using Wide = __int128;

[[nodiscard]] constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

[[nodiscard]] constexpr std::int64_t saturate(Wide value) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  if (value > kMax) return kMax;
  if (value < kMin) return kMin;
  return static_cast<std::int64_t>(value);
}

/// Towards minus infinity; `divisor` > 0. Plain `/` rounds towards zero, which moves times before 1970.
template <class Integer>
[[nodiscard]] constexpr Integer floor_div(Integer dividend, Integer divisor) {
  const Integer quotient = dividend / divisor;
  return dividend % divisor < 0 ? quotient - 1 : quotient;
}

/// Towards plus infinity; `divisor` > 0.
template <class Integer>
[[nodiscard]] constexpr Integer ceil_div(Integer dividend, Integer divisor) {
  const Integer quotient = dividend / divisor;
  return dividend % divisor > 0 ? quotient + 1 : quotient;
}

/// In [0, divisor); `divisor` > 0.
template <class Integer>
[[nodiscard]] constexpr Integer floor_mod(Integer dividend, Integer divisor) {
  const Integer rest = dividend % divisor;
  return rest < 0 ? rest + divisor : rest;
}

}  // namespace dripgate
