// What a fuzz target demands of the code that it runs; a demand that fails is a find, as a crash is.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace dripgate::fuzz {

inline void require(bool holds, const char* what, std::string_view about = {}) {
  if (holds) return;
  std::fprintf(stderr, "demand failed: %s: %.*s\n", what, static_cast<int>(about.size()), about.data());
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace dripgate::fuzz
