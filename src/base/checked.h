// Checked arithmetic: every product of caller-controlled numbers goes through here, so that an overflow is an
// answer and never a wrapped number. Pure, any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace dripgate {

using Wide = __int128;

[[nodiscard]] constexpr std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

[[nodiscard]] constexpr std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

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
