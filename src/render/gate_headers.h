// The contract of the gate over HTTP: RateLimit fields (draft-ietf-httpapi-ratelimit-headers-11),
// Retry-After, status and problem document of an answer. Pure, one source of truth for every edge.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/answer.h"

namespace dripgate::render {

/// In wire order.
using Headers = std::vector<std::pair<std::string, std::string>>;

/// What a browser's script may read of a response of another site.
inline constexpr const char* kExposedHeaders = "RateLimit, RateLimit-Policy, Retry-After";
inline constexpr const char* kExposedLegacyHeaders =
    "RateLimit, RateLimit-Policy, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";

/// 200, 429 or 503.
[[nodiscard]] int status_of(const check::Answer& answer);

/// RateLimit-Policy (every enforced policy; one item per limit), RateLimit (the limit that decides) and, on a
/// refusal that can pass later, Retry-After. `legacy` adds X-RateLimit-*. Nothing of RateLimit while the
/// answer is degraded to open or closed.
[[nodiscard]] Headers gate_headers(const check::Answer& answer, bool legacy);

/// The problem document of a refusal: application/problem+json.
[[nodiscard]] std::string refusal_document(const check::Answer& answer);

/// Whole seconds, rounded up, at least 1.
[[nodiscard]] std::int64_t wait_seconds(Duration wait);
/// Whole seconds until full or the window's end, rounded up; empty: never, or unknown.
[[nodiscard]] std::optional<std::int64_t> reset_seconds(const core::LimitOutcome& outcome);

}  // namespace dripgate::render
