// SHA-256 through OpenSSL: secrets in counter keys, long key values, digests of event bodies. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace dripgate {

using Sha256 = std::array<std::uint8_t, 32>;

[[nodiscard]] Sha256 sha256(std::string_view bytes);
/// The first `digits` (at most 64) hexadecimal digits, lower case.
[[nodiscard]] std::string sha256_hex(std::string_view bytes, std::size_t digits = 64);
/// The first 64 bits, big-endian: tells whether two event bodies are the same bytes.
[[nodiscard]] std::uint64_t digest64(std::string_view bytes);

}  // namespace dripgate
