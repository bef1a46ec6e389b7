#include "broker/redis_streams/keys.h"

#include <cstdint>

namespace dripgate::broker::redis_streams {
namespace {

std::string joined(std::string_view prefix, std::string_view kind, std::string_view tag) {
  std::string key;
  key.reserve(prefix.size() + kind.size() + tag.size());
  return key.append(prefix).append(kind).append(tag);
}

}  // namespace

std::string partition_tag(std::string_view name, std::size_t partition) {
  std::string tag = "{";
  for (const char c : name) {
    if (c == '{') {
      tag += "%7B";
    } else if (c == '}') {
      tag += "%7D";
    } else if (c == '%') {
      tag += "%25";
    } else {
      tag += c;
    }
  }
  tag += partition < 10 ? "/p0" : "/p";
  return tag + std::to_string(partition) + "}";
}

// FNV-1a: fixed for ever, since an id must find its record again after an update.
std::size_t partition_of(std::string_view id, std::size_t partitions) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return static_cast<std::size_t>((hash ^ (hash >> 32)) % partitions);
}

std::string stream_key(std::string_view prefix, std::string_view tag) {
  return joined(prefix, "s:", tag);
}
std::string id_record_key(std::string_view prefix, std::string_view tag, std::string_view id) {
  return joined(prefix, "i:", tag).append(":").append(id);
}
std::string due_key(std::string_view prefix, std::string_view tag) {
  return joined(prefix, "due:", tag);
}
std::string payload_key(std::string_view prefix, std::string_view tag) {
  return joined(prefix, "entry:", tag);
}
std::string letters_key(std::string_view prefix, std::string_view tag) {
  return joined(prefix, "dead:", tag);
}
std::string letter_ages_key(std::string_view prefix, std::string_view tag) {
  return joined(prefix, "dead-ages:", tag);
}
std::string letter_names_key(std::string_view prefix, std::string_view tag) {
  return joined(prefix, "dead-names:", tag);
}
std::string claim_key(std::string_view prefix, std::string_view tag, std::string_view id) {
  return joined(prefix, "claim:", tag).append(":").append(id);
}
std::string claim_over_key(std::string_view prefix, std::string_view tag, std::string_view id) {
  return joined(prefix, "claim-over:", tag).append(":").append(id);
}
std::string claim_ages_key(std::string_view prefix, std::string_view tag) {
  return joined(prefix, "claim-ages:", tag);
}
std::string claim_size_key(std::string_view prefix, std::string_view tag) {
  return joined(prefix, "claim-size:", tag);
}

}  // namespace dripgate::broker::redis_streams
