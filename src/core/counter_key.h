// Counter keys: "rl:{t:acme}:api-free:k:9f21ab…". The braces are the hash tag (Redis Cluster): the scope.
// Called by check for policies and by core/key_template for booking keys. Pure, never throws on any bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/policy.h"

namespace dripgate::core {

/// Injective, printable ASCII: letters, digits and . _ - / @ + stay, every other byte becomes %xx. Nothing
/// that a key uses as structure (: { } # * ~) stays. Longer than kKeyValueBytesMax: "~" and 32 digits of its
/// SHA-256.
[[nodiscard]] std::string escape_key_value(std::string_view value);

/// One spelling per counted address: IPv4, IPv4-mapped and NAT64 (64:ff9b::/96) as "1.2.3.4", IPv6 as its /64
/// "2001:db8:1:2::/64", a zone id dropped. Anything else comes back unchanged.
[[nodiscard]] std::string canonical_ip(std::string_view text);

/// Which values of one key part count as one: trimmed and lowered where the part asks for it, then hashed
/// (secret) or an address (`ip`). What overrides are compared with.
[[nodiscard]] std::string counted_value(const KeyPart& part, std::string_view value);

/// The counted value as it stands in the counter key: escaped.
[[nodiscard]] std::string key_part_value(const KeyPart& part, std::string_view value);

/// The key of limit `index` of a policy whose first limit has `first`.
[[nodiscard]] std::string limit_key(const std::string& first, std::size_t index);

struct CounterKeys {
  std::vector<std::string> keys;     // one per limit, in their order
  std::vector<std::string> missing;  // names of key parts that the request does not have
};

/// The keys of one policy for one request; `limits` is how many (an override may have more than the policy).
/// The part `ip` is canonicalised. Where a part is missing all requests of the scope that miss one share a
/// bucket
/// ("rl:{t:acme}:api-free:*"): leaving a part out never selects a bucket by the others. Whether to deny,
/// share or skip is the caller's choice by `missing`. A present but empty value is a value.
[[nodiscard]] CounterKeys counter_keys(const Policy& policy, const Descriptor& descriptor,
                                       std::size_t limits);

}  // namespace dripgate::core
