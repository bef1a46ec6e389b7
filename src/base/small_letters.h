// ASCII letters in small ones, all other bytes as they are: one meaning for match, keys and names of headers.
#pragma once

#include <string>
#include <string_view>

namespace dripgate {

[[nodiscard]] inline std::string small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

}  // namespace dripgate
