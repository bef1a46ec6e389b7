#include "check/client_address.h"

#include <algorithm>

namespace dripgate::check {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// "203.0.113.8:5123" -> "203.0.113.8", "[2001:db8::1]:443" -> "2001:db8::1".
std::string_view without_port(std::string_view entry) {
  if (entry.starts_with('[')) return entry.substr(1, std::max<std::size_t>(entry.find(']'), 1) - 1);
  const std::size_t colon = entry.find(':');
  const bool one = colon != std::string_view::npos && entry.find(':', colon + 1) == std::string_view::npos;
  return one ? entry.substr(0, colon) : entry;
}

}  // namespace

std::string_view bare_address(std::string_view text) {
  const std::string_view bare = without_port(trimmed(text));
  return bare.size() == text.size() || !parse_ip(bare) ? text : bare;
}

std::string client_address(std::string_view peer, std::span<const std::string_view> forwarded_for,
                           const std::vector<IpNetwork>& trusted) {
  std::string_view client = peer;
  const auto of_peer = parse_ip(peer);
  if (!of_peer || !contains(trusted, *of_peer)) return std::string(client);
  for (std::size_t line = forwarded_for.size(); line-- > 0;) {
    std::string_view rest = forwarded_for[line];
    while (true) {
      const std::size_t comma = rest.rfind(',');
      const std::string_view entry =
          without_port(trimmed(comma == std::string_view::npos ? rest : rest.substr(comma + 1)));
      const auto address = parse_ip(entry);
      if (!address) return std::string(client);
      client = entry;
      if (!contains(trusted, *address)) return std::string(client);
      if (comma == std::string_view::npos) break;
      rest = rest.substr(0, comma);
    }
  }
  return std::string(client);
}

}  // namespace dripgate::check
