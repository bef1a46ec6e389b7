#include "store/redis/booking_names.h"

#include <cstring>
#include <utility>

#include "base/sha256.h"

namespace dripgate::store {
namespace {

constexpr std::size_t kTagBytes = 8;
constexpr std::size_t kFieldBytes = 16;
constexpr std::size_t kPartitionDigits = 2;

std::string first_bytes(const Sha256& digest, std::size_t count) {
  return {reinterpret_cast<const char*>(digest.data()), count};
}

void append_hex(std::string& name, std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    name += kHex[byte >> 4];
    name += kHex[byte & 15];
  }
}

std::uint64_t number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes.substr(0, sizeof(value))) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

std::string bucket(const std::string& place, char kind, std::uint64_t hash) {
  const auto index = static_cast<std::uint32_t>(hash % kEventBuckets);
  std::string name = place;
  name += kind;
  append_hex(name, std::string{static_cast<char>(index >> 8), static_cast<char>(index)});
  return name;
}

}  // namespace

BookingNames::BookingNames(std::string prefix, std::size_t partitions)
    : prefix_(std::move(prefix)), partitions_(partitions) {}

KeyTag BookingNames::tag_of(std::string_view key) {
  return first_bytes(sha256(key), kTagBytes);
}

EventField BookingNames::field_of(std::string_view event_id) {
  const Sha256 digest = sha256(event_id);
  const std::uint64_t hash = number(first_bytes(digest, sizeof(std::uint64_t)));
  if (!event_id.empty() && event_id.size() < kFieldBytes) return {std::string(event_id), hash};
  return {first_bytes(digest, kFieldBytes), hash};
}

std::size_t BookingNames::partition_of(const KeyTag& tag) const {
  return number(tag) % partitions_;
}

std::size_t BookingNames::claims_of(const EventField& id) const {
  return (id.hash / kEventBuckets) % partitions_;
}

std::string BookingNames::place(std::string_view stream, std::size_t partition) const {
  std::string name = prefix_ + "{" + std::string(stream);
  if (stream.empty()) name += ':';  // Redis takes {} for no hash tag at all
  if (partitions_ > 1) {
    std::string digits = std::to_string(partition);
    if (digits.size() < kPartitionDigits) digits.insert(0, kPartitionDigits - digits.size(), '0');
    name += "/p" + digits;
  }
  return name + "}";
}

std::string BookingNames::since(const std::string& place) {
  return place + "since";
}

std::string BookingNames::row(const std::string& place, const KeyTag& tag) {
  std::string name = place + "k";
  append_hex(name, tag);
  return name;
}

std::string BookingNames::events(const std::string& place, const EventField& id) {
  return bucket(place, 'e', id.hash);
}

std::string BookingNames::claims(const std::string& place, const EventField& id) {
  return bucket(place, 'c', id.hash);
}

}  // namespace dripgate::store
