// NDJSON: a body cut into its lines. Pure; views live as long as the body.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace dripgate::server {

struct NdjsonLine {
  std::size_t number;     // 1-based, counting every line of the body
  std::string_view text;  // without its line end
};

/// Lines with nothing but white space are left out.
[[nodiscard]] std::vector<NdjsonLine> split_lines(std::string_view body);
/// "application/x-ndjson", whatever its parameters and letters.
[[nodiscard]] bool is_ndjson(std::string_view content_type);

}  // namespace dripgate::server
