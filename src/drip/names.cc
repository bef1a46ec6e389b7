#include "drip/names.h"

#include <array>
#include <cstdio>

#include "base/limits.h"
#include "base/sha256.h"

namespace dripgate::drip {
namespace {

constexpr std::size_t kNameDigits = 32;

/// 128 bits of stream and event id: short, and in the alphabet of every timer.
std::string event_name(const Event& event) {
  return sha256_hex(event.stream->id + '\0' + event.id, kNameDigits);
}

std::string step(const Event& event) {
  return std::to_string(event.generation) + "-a" + std::to_string(event.attempts) + "-d" +
         std::to_string(event.deferrals);
}

}  // namespace

std::string event_id(std::string_view given, const core::Stream& stream,
                     const core::KeyTemplate::Lookup& lookup) {
  std::string id(given);
  if (id.empty() && stream.event_id) id = stream.event_id->render_plain(lookup).value_or("");
  return id.size() > kEventIdBytesMax ? "~" + sha256_hex(id) : id;
}

std::uint64_t body_digest(std::string_view bytes) {
  return digest64(bytes);
}

std::string gate_entry_id(const Event& event) {
  return event_name(event) + "-g" + std::to_string(event.generation);
}

std::string retry_entry_id(const Event& event) {
  return event_name(event) + "-r" + step(event);
}

std::string overflow_message_id(const Event& event) {
  return event_name(event) + "-o" + step(event);
}

std::string conflict_id(const Event& event) {
  std::array<char, 20> digest{};
  std::snprintf(digest.data(), digest.size(), "#%016llx", static_cast<unsigned long long>(event.digest));
  return event.id + digest.data();
}

}  // namespace dripgate::drip
