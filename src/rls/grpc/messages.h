// Messages of the rate limit service as checks, and answers as messages. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "rls/joint.h"

namespace envoy::service::ratelimit::v3 {
class RateLimitRequest;
class RateLimitResponse;
}  // namespace envoy::service::ratelimit::v3

namespace dripgate::rls {

inline constexpr int kDescriptorsMax = 32;  // of one call
inline constexpr int kEntriesMax = 64;      // of one descriptor

/// One check per descriptor, in their order. Its facts: the entries, and the request's `domain`; the entry
/// `remote_address` is the fact `ip`. Cost: the descriptor's hits_addend (0 asks without taking), else the
/// request's (unset and 0 are 1). Errors: invalid_argument, naming the descriptor.
[[nodiscard]] Result<Requests> read_request(const envoy::service::ratelimit::v3::RateLimitRequest& message);

/// Status of every answer, overall code, headers and, refused, the problem document as body. Numbers that do
/// not fit 32 bits are the largest that does. `legacy`: X-RateLimit-* too.
void write_response(std::span<const check::Answer> answers, bool legacy,
                    envoy::service::ratelimit::v3::RateLimitResponse& message);

}  // namespace dripgate::rls
