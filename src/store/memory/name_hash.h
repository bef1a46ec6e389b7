// Hash of keys and event ids for the memory backend's tables. Seeded per process: ids come from clients, and
// a client that knows the hash could put all of its ids into one chain.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace dripgate::store {

class NameHash {
 public:
  explicit NameHash(std::uint64_t seed) : seed_(seed) {}

  [[nodiscard]] std::uint64_t operator()(std::string_view name) const { return mix(name, seed_); }
  /// The hash of an id within the key that hashed to `key_hash`.
  [[nodiscard]] static std::uint64_t within(std::uint64_t key_hash, std::string_view id) {
    return mix(id, key_hash);
  }

 private:
  static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  static std::uint64_t mix(std::string_view bytes, std::uint64_t h) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;   // 2^64 / golden ratio
    constexpr std::uint64_t kOdd2 = 0xd1342543de82ef95;  // a full-period LCG multiplier
    const std::size_t size = bytes.size();
    while (bytes.size() >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), 8);
      h = fold(h ^ word, kOdd);
      bytes.remove_prefix(8);
    }
    std::uint64_t rest = 0;
    std::memcpy(&rest, bytes.data(), bytes.size());
    return fold(fold(h ^ rest, kOdd2) ^ size, kOdd);
  }

  std::uint64_t seed_;
};

}  // namespace dripgate::store
