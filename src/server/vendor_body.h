// Bodies of POST /v1/acquire and /v1/observe: what they ask and what is answered, as JSON. Pure. Errors:
// invalid_argument, naming the member and what is accepted.
#pragma once

#include <string>
#include <string_view>

#include "vendor/vendors.h"

namespace dripgate::server {

inline constexpr std::size_t kVendorBodyBytesMax = 128u << 10;  // an answer's headers, and some
inline constexpr std::size_t kVendorHeadersMax = 256;
inline constexpr std::size_t kVendorIdBytesMax = 64;

[[nodiscard]] Result<vendor::AcquireCall> read_acquire(std::string_view body);
[[nodiscard]] Result<vendor::ObserveCall> read_observe(std::string_view body);
[[nodiscard]] std::string render_acquired(const vendor::Acquired& acquired);
[[nodiscard]] std::string render_observed(const vendor::Observed& observed);
[[nodiscard]] std::string render_operated(const std::string& vendor, const vendor::Operated& operated);
[[nodiscard]] std::string render_vendor(const vendor::VendorStatus& status);

}  // namespace dripgate::server
