// BookingNames: where a stream's keys and event ids live in Redis (docs/decisions/0012). A stream is split in
// partitions, each under one hash tag: what is booked together is in one slot. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dripgate::store {

/// Buckets of event records per partition: 10^6 records live 61 to a bucket, small enough for Redis to keep
/// them packed. Part of the layout: another number finds no record of before.
inline constexpr std::uint32_t kEventBuckets = 1u << 14;

/// The 8 bytes that stand for a booking key in its row's name and in event records.
using KeyTag = std::string;

/// An event id as Redis knows it.
struct EventField {
  std::string field;   // the id; 16 bytes of its SHA-256 where it is longer than 15 bytes or empty
  std::uint64_t hash;  // chooses the bucket, and the partition of its claim
};

class BookingNames {
 public:
  BookingNames(std::string prefix, std::size_t partitions);

  [[nodiscard]] static KeyTag tag_of(std::string_view key);
  [[nodiscard]] static EventField field_of(std::string_view event_id);
  [[nodiscard]] std::size_t partitions() const { return partitions_; }
  [[nodiscard]] std::size_t partition_of(const KeyTag& tag) const;
  [[nodiscard]] std::size_t claims_of(const EventField& id) const;
  /// What every name of a partition begins with: the prefix and the hash tag.
  [[nodiscard]] std::string place(std::string_view stream, std::size_t partition) const;

  /// The marker of since when the partition knows its history (lua/lib_booking_since).
  [[nodiscard]] static std::string since(const std::string& place);
  [[nodiscard]] static std::string row(const std::string& place, const KeyTag& tag);
  [[nodiscard]] static std::string events(const std::string& place, const EventField& id);
  [[nodiscard]] static std::string claims(const std::string& place, const EventField& id);

 private:
  std::string prefix_;
  std::size_t partitions_;
};

}  // namespace dripgate::store
