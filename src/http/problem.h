// Problem documents (RFC 9457): every refusal of the product over HTTP has this form.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "http/message.h"

namespace dripgate::http {

/// application/problem+json with type "/errors/<kind>", title (the status' reason phrase), status and detail.
/// `retry_after` adds Retry-After (whole seconds, rounded up, at least 1) and retryAfterSeconds.
[[nodiscard]] Response problem(int status, std::string_view kind, std::string_view detail,
                               std::optional<Duration> retry_after = std::nullopt);

/// "Not Found"; "Unknown" for a status without a name.
[[nodiscard]] std::string_view reason_phrase(int status);

}  // namespace dripgate::http
