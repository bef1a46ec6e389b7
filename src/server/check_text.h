// Bodies of POST /v1/check, /v1/refund and /v1/explain: what they ask and what is answered, as JSON. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "check/check.h"

namespace dripgate::server {

inline constexpr std::size_t kChecksPerRequestMax = 1'000;
inline constexpr std::size_t kCheckBodyBytesMax = 4u << 20;  // 1,000 checks of 4 KiB
inline constexpr std::size_t kRefundBodyBytesMax = check::kRefundIdBytesMax + 1024;
inline constexpr std::size_t kAttributesMax = 64;  // of one check
inline constexpr std::size_t kIdempotencyKeyBytesMax = 256;

struct CheckBody {
  bool batch = false;
  std::vector<Result<check::Request>> checks;  // one, or those of "checks" in order; errors: invalid_argument
};
/// {"attributes":{…},"cost":1,"peek":false,"idempotencyKey":"…"}, or {"checks":[…]} of such. Errors of the
/// whole: invalid_argument.
[[nodiscard]] Result<CheckBody> read_checks(std::string_view body);

/// Appends one decision: what a client's middleware needs, headers included.
void append_decision(std::string& out, const check::Answer& answer, bool legacy);
[[nodiscard]] std::string render_explanation(const check::Explanation& explanation,
                                             const core::Descriptor& descriptor);

}  // namespace dripgate::server
