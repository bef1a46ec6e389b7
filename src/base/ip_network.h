// IpNetwork: a block of addresses ("10.0.0.0/8", "2001:db8::/32", one address). IPv4 and IPv4-mapped IPv6 are
// the same. Pure, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dripgate {

/// 16 bytes; IPv4 as ::ffff:a.b.c.d.
using IpAddress = std::array<std::uint8_t, 16>;

/// Empty: no address. A zone id ("fe80::1%eth0") is dropped.
[[nodiscard]] std::optional<IpAddress> parse_ip(std::string_view text);

class IpNetwork {
 public:
  /// Errors: invalid_argument; detail says what is accepted. Bits behind the prefix must be 0.
  [[nodiscard]] static Result<IpNetwork> parse(std::string_view text);
  [[nodiscard]] bool contains(const IpAddress& address) const;
  friend bool operator==(const IpNetwork&, const IpNetwork&) = default;

 private:
  IpAddress address_{};
  int bits_ = 128;
};

/// 127.0.0.0/8 and ::1.
[[nodiscard]] std::vector<IpNetwork> loopback_networks();
[[nodiscard]] bool contains(const std::vector<IpNetwork>& networks, const IpAddress& address);

}  // namespace dripgate
