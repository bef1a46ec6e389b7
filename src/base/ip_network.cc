#include "base/ip_network.h"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>

namespace dripgate {
namespace {

constexpr int kAllBits = 128;
constexpr int kMappedBits = 96;  // in front of an IPv4 address

std::unexpected<Error> refuse(std::string_view text, std::string_view why) {
  return fail(ErrorCode::invalid_argument,
              "'" + std::string(text) + "' " + std::string(why) +
                  "; accepted: an address or a block, such as 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32");
}

/// As inet_pton reads it, which every check would call several times: four numbers below 256, without zeros
/// in front.
bool parse_ipv4(std::string_view text, std::uint8_t* into) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (at == end || *at++ != '.')) return false;
    unsigned value = 0;
    const char* const first = at;
    for (; at != end && *at >= '0' && *at <= '9' && value <= 255; ++at)
      value = value * 10 + static_cast<unsigned>(*at - '0');
    if (at == first || value > 255 || (*first == '0' && at - first > 1)) return false;
    into[part] = static_cast<std::uint8_t>(value);
  }
  return at == end;
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  text = text.substr(0, text.find('%'));
  IpAddress address{};
  if (!text.contains(':')) {
    address[10] = address[11] = 0xff;
    return parse_ipv4(text, address.data() + 12) ? std::optional(address) : std::nullopt;
  }
  std::array<char, INET6_ADDRSTRLEN> whole{};
  if (text.size() >= whole.size() || text.contains('\0')) return std::nullopt;
  std::ranges::copy(text, whole.begin());
  return inet_pton(AF_INET6, whole.data(), address.data()) == 1 ? std::optional(address) : std::nullopt;
}

Result<IpNetwork> IpNetwork::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view host = text.substr(0, slash);
  const auto address = parse_ip(host);
  if (!address || host.contains('%')) return refuse(text, "is no address");
  const int before = host.contains(':') ? 0 : kMappedBits;
  IpNetwork network;
  network.address_ = *address;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    int bits = -1;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    const bool whole = code == std::errc{} && end == digits.data() + digits.size();
    if (!whole || bits < 0 || bits > kAllBits - before)
      return refuse(text, "has no prefix length of its kind");
    network.bits_ = before + bits;
  }
  for (int bit = network.bits_; bit < kAllBits; ++bit) {
    if ((network.address_[static_cast<std::size_t>(bit / 8)] >> (7 - bit % 8) & 1) != 0)
      return refuse(text, "has bits behind its prefix");
  }
  return network;
}

bool IpNetwork::contains(const IpAddress& address) const {
  const auto whole = static_cast<std::size_t>(bits_ / 8);
  if (!std::equal(address.begin(), address.begin() + static_cast<std::ptrdiff_t>(whole), address_.begin()))
    return false;
  const int rest = bits_ % 8;
  return rest == 0 || (address[whole] ^ address_[whole]) >> (8 - rest) == 0;
}

std::vector<IpNetwork> loopback_networks() {
  return {IpNetwork::parse("127.0.0.0/8").value(), IpNetwork::parse("::1").value()};
}

bool contains(const std::vector<IpNetwork>& networks, const IpAddress& address) {
  return std::ranges::any_of(networks, [&](const IpNetwork& network) { return network.contains(address); });
}

}  // namespace dripgate
