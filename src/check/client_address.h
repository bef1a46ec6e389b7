// The address of the client behind a chain of proxies. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_network.h"

namespace dripgate::check {

/// `peer`: who is connected. `forwarded_for`: the values of X-Forwarded-For, one per header line, in order;
/// what each trusted proxy appended is read from the right, and the first address that is no trusted proxy's
/// is the client's. What stands left of it was written by the client and counts for nothing; so does an entry
/// that is no address: the proxy that passed it on is the client then. Ports and brackets are dropped.
[[nodiscard]] std::string client_address(std::string_view peer,
                                         std::span<const std::string_view> forwarded_for,
                                         const std::vector<IpNetwork>& trusted);

/// "203.0.113.8:5123", "[2001:db8::1]:443" -> the address alone: who connects anew has another port and is
/// the same client. A view into `text`; what is no address comes back as it is.
[[nodiscard]] std::string_view bare_address(std::string_view text);

}  // namespace dripgate::check
