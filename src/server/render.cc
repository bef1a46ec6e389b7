#include "server/render.h"

#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include "base/rfc3339.h"
#include "http/problem.h"

namespace dripgate::server {

using Json = nlohmann::ordered_json;

namespace {

Json time_or_null(const std::optional<WallTime>& time) {
  return time ? Json(format_rfc3339(*time)) : Json(nullptr);
}

Json key_or_null(const std::string& key) {
  return key.empty() ? Json(nullptr) : Json(key);
}

std::string base64(const std::string& bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int n =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(n));
  return out;
}

// nlohmann checks UTF-8 when it writes: what it cannot write is no text.
bool is_utf8(const std::string& bytes) {
  try {
    (void)Json(bytes).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

/// What a failure is over HTTP: its status and the word its problem type ends in.
struct Failure {
  int status;
  std::string_view word;
};

Failure failure_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return {400, "bad-request"};
    case ErrorCode::not_found:
      return {404, "not-found"};
    case ErrorCode::conflict:
      return {409, "conflict"};
    case ErrorCode::too_large:
      return {413, "too-large"};
    case ErrorCode::full:
      return {507, "disk-full"};
    case ErrorCode::unavailable:
    case ErrorCode::timed_out:
    case ErrorCode::locked:
    case ErrorCode::clock_stepped_back:
    case ErrorCode::cancelled:
      return {503, "unavailable"};
    case ErrorCode::corrupt:
    case ErrorCode::newer_version:
    case ErrorCode::io:
      break;
  }
  return {500, "internal"};
}

// A duplicate was accepted before; its answer says so in a member of its own.
std::string_view verdict_word(const IngestAnswer& answer) {
  const bool accepted = answer.accepted_only || answer.verdict.kind == drip::EventVerdict::Kind::duplicate;
  return accepted ? "accepted" : to_string(answer.verdict.kind);
}

}  // namespace

std::string to_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

http::Response json_response(int status, const Json& body) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = to_text(body) + "\n"};
}

int status_of(ErrorCode code) {
  return failure_of(code).status;
}

http::Response problem_of(const Error& error) {
  const Failure failure = failure_of(error.code);
  const auto retry_after = failure.status == 503 ? std::optional(kRetryUnavailableAfter) : std::nullopt;
  return http::problem(failure.status, failure.word, error.detail, retry_after);
}

Json render_accepted(const IngestAnswer& answer) {
  const bool decided = !answer.accepted_only;
  Json out{{"id", answer.id},
           {"verdict", verdict_word(answer)},
           {"slot", decided ? time_or_null(answer.verdict.slot) : Json(nullptr)},
           {"key", decided ? key_or_null(answer.verdict.key) : Json(nullptr)}};
  if (decided && answer.verdict.kind == drip::EventVerdict::Kind::dead_letter)
    out["reason"] = answer.verdict.reason;
  if (decided && answer.verdict.kind == drip::EventVerdict::Kind::duplicate) out["duplicate"] = true;
  return out;
}

Json render_status(const std::string& stream, const drip::PipelineStatus& status) {
  Json out{{"id", stream},
           {"paused", status.paused},
           {"inFlight", status.outstanding},
           {"backlog", status.backlog},
           {"oldestSlot", time_or_null(status.oldest_slot)},
           {"eta", time_or_null(status.eta)},
           {"deadLetters", status.dead_letters},
           {"lastError", nullptr}};
  if (status.last_error) {
    out["lastError"] = {{"code", to_string(status.last_error->code)}, {"detail", status.last_error->detail}};
  }
  return out;
}

Json render_key(const std::string& stream, const std::string& key, const KeyStatus& status,
                const core::BookingPolicy* limits) {
  const core::KeyView& view = status.view;
  Json out{{"stream", stream},
           {"key", key},
           {"bookingKey", status.key},
           {"now", format_rfc3339(view.now)},
           {"frozenUntil", time_or_null(view.frozen_until)},
           {"pending", view.pending},
           {"nextSlot", format_rfc3339(view.next_slot)},
           {"eta", time_or_null(view.last_slot)},
           {"limits", Json::array()}};
  for (std::size_t i = 0; limits != nullptr && i < view.released.size() && i < limits->limits.size(); ++i) {
    const core::Limit& limit = limits->limits[i];
    out["limits"].push_back(
        {{"windowType", core::window_type(limit)}, {"limit", limit.limit}, {"released", view.released[i]}});
  }
  return out;
}

Json render_letter(const broker::DeadLetter& letter) {
  return {{"seq", letter.sequence},
          {"id", letter.event_id},
          {"key", key_or_null(letter.key)},
          {"reason", letter.reason},
          {"detail", letter.detail},
          {"firstReceived", format_rfc3339(letter.first_received)},
          {"deadAt", format_rfc3339(letter.dead_at)},
          {"attempts", letter.attempts},
          {"bytes", letter.message.body.size()}};
}

Json render_whole_letter(const broker::DeadLetter& letter) {
  Json out = render_letter(letter);
  out["attributes"] = Json::object();
  for (const auto& [name, value] : letter.message.attributes) out["attributes"][name] = value;
  out["body"] = is_utf8(letter.message.body) ? Json(letter.message.body) : Json(nullptr);
  out["bodyBase64"] = base64(letter.message.body);
  return out;
}

}  // namespace dripgate::server
