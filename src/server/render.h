// Answers as JSON. Pure. Times are RFC 3339 UTC; absent ones are null.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "broker/dead_letter.h"
#include "core/stream.h"
#include "drip/pipeline.h"
#include "http/message.h"
#include "server/stream_service.h"

namespace dripgate::server {

[[nodiscard]] http::Response json_response(int status, const nlohmann::ordered_json& body);
/// One compact line; bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string to_text(const nlohmann::ordered_json& value);

/// Retry-After of a 503 of a busy or restarting store: not at once, but soon.
inline constexpr Duration kRetryUnavailableAfter = std::chrono::seconds{1};
[[nodiscard]] int status_of(ErrorCode code);
[[nodiscard]] http::Response problem_of(const Error& error);

/// An event that was taken; `answer.error` is empty and it is no conflict. Keys are shown as the stream's
/// template renders them: as the key routes take them.
[[nodiscard]] nlohmann::ordered_json render_accepted(const IngestAnswer& answer);
[[nodiscard]] nlohmann::ordered_json render_status(const std::string& stream,
                                                   const drip::PipelineStatus& status);
/// `limits` name the units of the view: those of the stream as configured now.
[[nodiscard]] nlohmann::ordered_json render_key(const std::string& stream, const std::string& key,
                                                const KeyStatus& status, const core::BookingPolicy* limits);
/// Without the payload.
[[nodiscard]] nlohmann::ordered_json render_letter(const broker::DeadLetter& letter);
/// With the original bytes: base64, and as text when they are UTF-8.
[[nodiscard]] nlohmann::ordered_json render_whole_letter(const broker::DeadLetter& letter);

}  // namespace dripgate::server
