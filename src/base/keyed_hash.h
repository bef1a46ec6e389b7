// SipHash-1-3 with a secret key: fingerprints of keys that a client may choose, so that nobody outside can
// aim at one place of a table. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace dripgate {

struct HashKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

/// From the operating system's random numbers; a new one for every table.
[[nodiscard]] HashKey random_hash_key();
[[nodiscard]] std::uint64_t keyed_hash(const HashKey& key, std::string_view bytes);

}  // namespace dripgate
