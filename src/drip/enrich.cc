#include "drip/enrich.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/rfc3339.h"
#include "base/sha256.h"

namespace dripgate::drip {
namespace {

constexpr std::size_t kVersionDigits = 12;
constexpr std::string_view kPayloadMember = R"(,"originalPayload":)";

void append_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(c));
      out += escaped.data();
    } else {
      out += c;
    }
  }
  out += '"';
}

void text_member(std::string& out, std::string_view name, std::string_view value) {
  out.append(",\"").append(name).append("\":");
  append_text(out, value);
}

void number_member(std::string& out, std::string_view name, std::int64_t value) {
  out.append(",\"").append(name).append("\":").append(std::to_string(value));
}

/// rateLimitMeta without its closing brace: the members that the format names, in its order, then ours.
std::string meta(const Event& event, std::size_t deciding_limit) {
  const auto& limits = event.stream->booking->limits;
  std::string out = R"({"isRatelimited":true,"rateLimitMeta":{"key":)";
  append_text(out, rendered_key(event));
  if (!limits.empty()) {
    const core::Limit& limit = limits[std::min(deciding_limit, limits.size() - 1)];
    text_member(out, "windowType", core::window_type(limit));
    number_member(out, "limit", limit.limit);
  }
  text_member(out, "scheduledFor", format_rfc3339(event.slot));
  text_member(out, "overflowTopic", event.stream->overflow_topic);
  text_member(out, "eventId", event.id);
  number_member(out, "generation", event.generation);
  number_member(out, "cost", event.cost);
  text_member(out, "policyVersion", policy_version(*event.stream->booking));
  if (event.first_received) text_member(out, "firstReceived", format_rfc3339(*event.first_received));
  number_member(out, "payloadBytes", static_cast<std::int64_t>(event.original.body.size()));
  return out;
}

std::unexpected<Error> corrupt(std::string detail) {
  return fail(ErrorCode::corrupt, std::move(detail));
}

}  // namespace

std::optional<std::string> enrich(const Event& event, std::size_t deciding_limit, JsonPayload& json) {
  if (!json.is_document(event.original.body)) return {};
  std::string out = meta(event, deciding_limit);
  out.reserve(out.size() + kPayloadMember.size() + event.original.body.size() + 2);
  out.append("}").append(kPayloadMember).append(event.original.body).append("}");
  return out;
}

Result<std::string> restore(std::string_view body, std::size_t payload_bytes, std::string_view overflow_topic,
                            JsonPayload& json) {
  // {"isRatelimited":...,"rateLimitMeta":{...} ,"originalPayload": <payload_bytes> }
  if (!body.ends_with('}') || payload_bytes > body.size() - 1) {
    return corrupt("the enriched payload is cut short");
  }
  const std::size_t payload_at = body.size() - 1 - payload_bytes;
  const std::string_view frame = body.substr(0, payload_at);
  if (!frame.ends_with(kPayloadMember)) {
    return corrupt("no originalPayload of " + std::to_string(payload_bytes) +
                   " bytes in the enriched payload");
  }
  const std::string head = std::string(frame.substr(0, frame.size() - kPayloadMember.size())) + "}";
  if (!json.is_document(head)) return corrupt("the enriched payload is not JSON");
  const auto topic = json.text_at(head, "/rateLimitMeta/overflowTopic");
  if (topic.value_or("") != overflow_topic) {
    return corrupt("the payload names the overflow topic '" + topic.value_or("") + "', this stream's is '" +
                   std::string(overflow_topic) + "'");
  }
  return std::string(body.substr(payload_at, payload_bytes));
}

std::string policy_version(const core::BookingPolicy& policy) {
  std::string facts = policy.spread == core::Spread::even ? "even" : "start";
  facts += " " + std::to_string(policy.max_delay.count());
  for (const core::Limit& limit : policy.limits) {
    facts += " " + std::to_string(static_cast<int>(limit.algorithm)) + ":" + std::to_string(limit.limit) +
             "/" + std::to_string(limit.window.count()) + ":" + std::to_string(limit.capacity) + ":" +
             (limit.zone ? limit.zone->name : "");
  }
  return sha256_hex(facts, kVersionDigits);
}

}  // namespace dripgate::drip
