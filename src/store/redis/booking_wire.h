// What the booking scripts take and answer, as bytes (lua/lib_booking_*.lua say the layouts). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/booking_types.h"
#include "store/redis/booking_names.h"

namespace dripgate::store::wire {

/// Little-endian numbers, as struct.pack writes them.
class Packer {
 public:
  Packer& byte(std::size_t value);
  Packer& number16(std::size_t value);
  Packer& number32(std::uint32_t value);
  Packer& real(std::int64_t value);  // exact below 2^53, and powers of two
  Packer& time(WallTime value) { return real(to_us(value)); }
  Packer& bytes(std::string_view value);
  [[nodiscard]] std::size_t size() const { return out_.size(); }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// `now`: the latest that was heard of the store's clock (kLongAgo: nothing); decides which transitions of a
/// zone are passed.
[[nodiscard]] std::string pack_policy(const core::BookingPolicy& policy, WallTime now);
/// A body digest as the 8 bytes that records keep.
[[nodiscard]] std::string digest_bytes(std::uint64_t digest);

/// The first byte of an item's answer, where it is no outcome.
enum : std::uint8_t { kMoved = 16, kUnknown = 17 };

struct ItemAnswer {
  std::uint8_t code = 0;             // an outcome of core, or one of the above
  std::optional<std::size_t> limit;  // the deciding one; empty: what the slot says
  WallTime now;
  WallTime slot;
  std::uint32_t generation = 0;
  WallTime first_received;
  KeyTag owner;  // kMoved: the key that the id belongs to
};

struct BatchAnswer {
  WallTime now;
  std::vector<Result<ItemAnswer>> items;
  std::int64_t since = 0;  // lib_booking_since; 0 where the script says nothing of it
};

/// Errors: clock_stepped_back; corrupt: not what the scripts answer.
[[nodiscard]] Result<BatchAnswer> read_batch(std::string_view reply, std::size_t items);
/// The answer of a script about one key: now, and what follows. Errors as above, and of the key's row.
struct KeyAnswer {
  WallTime now;
  std::string_view rest;
};
[[nodiscard]] Result<KeyAnswer> read_key(std::string_view reply);
/// Takes one '<d' off the front; 0 where nothing is left.
[[nodiscard]] std::int64_t take_real(std::string_view& bytes);

}  // namespace dripgate::store::wire
