#include "server/ndjson.h"

#include "http/message.h"

namespace dripgate::server {

std::vector<NdjsonLine> split_lines(std::string_view body) {
  std::vector<NdjsonLine> lines;
  for (std::size_t number = 1; !body.empty(); ++number) {
    const auto end = body.find('\n');
    std::string_view line = body.substr(0, end);
    body.remove_prefix(end == std::string_view::npos ? body.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) lines.push_back({number, line});
  }
  return lines;
}

bool is_ndjson(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  while (content_type.ends_with(' ')) content_type.remove_suffix(1);
  return http::same_name(content_type, "application/x-ndjson") ||
         http::same_name(content_type, "application/ndjson");
}

}  // namespace dripgate::server
