#include "store/redis/booking_wire.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/limits.h"
#include "base/sha256.h"

namespace dripgate::store::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are in memory");

constexpr std::size_t kItemBytes = 1 + 1 + 8 + 8 + 4 + 8;
// Codes of lua/lib_booking_batch.lua and lib_booking_key.lua.
enum : std::uint8_t { kStoreStepped = 1, kStepped = 32, kInvalid = 33, kCorrupt = 34, kNewer = 35 };
enum : std::uint8_t { kCorruptRecord = 36, kNewerRecord = 37 };

// A key may be asked about windows this far back and ahead of the store's clock: late timers, and replays of
// a backlog. A window further away falls into the first or last offset that was passed.
constexpr Duration kZonePast = std::chrono::hours{24 * 70};
constexpr Duration kZoneFuture = std::chrono::hours{24 * 1000};

std::string shape_of(const core::Limit& limit) {
  Packer packed;
  packed.byte(static_cast<std::size_t>(limit.algorithm)).real(limit.window.count());
  if (limit.zone) packed.byte(1).bytes(limit.zone->name);
  return digest_bytes(digest64(packed.take()));
}

/// The transitions that matter around `now`; the first one holds for all earlier time too.
std::vector<ZoneTransition> transitions(const Zone& zone, WallTime now) {
  if (now == kLongAgo) return zone.transitions;
  std::vector<ZoneTransition> near;
  for (std::size_t i = 0; i < zone.transitions.size(); ++i) {
    const bool over = i + 1 < zone.transitions.size() && zone.transitions[i + 1].at < now - kZonePast;
    const bool far = i > 0 && zone.transitions[i].at > now + kZoneFuture;
    if (!over && !far) near.push_back(zone.transitions[i]);
  }
  return near;
}

std::unexpected<Error> failure(std::uint8_t code) {
  switch (code) {
    case kStoreStepped:
    case kStepped:
      return fail(ErrorCode::clock_stepped_back,
                  "redis: its clock is behind the last time seen for this key or node; up to " +
                      std::to_string(kClockClampMax.count()) + " us is accepted",
                  true);
    case kInvalid:
      return fail(ErrorCode::invalid_argument, "ticket cost: below 1; accepted are whole numbers from 1");
    case kCorrupt:
    case kCorruptRecord:
      return fail(ErrorCode::corrupt, std::string(code == kCorrupt ? "key state" : "event record") +
                                          " in redis: the bytes are not what Dripgate writes");
    case kNewer:
    case kNewerRecord:
      return fail(ErrorCode::newer_version, std::string(code == kNewer ? "key state" : "event record") +
                                                " in redis: written by a later Dripgate; update this one");
    default:
      return fail(ErrorCode::corrupt, "redis: a booking script answered " + std::to_string(code));
  }
}

template <class Number>
Number take(std::string_view& bytes) {
  Number value{};
  if (bytes.size() < sizeof(value)) return value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  bytes.remove_prefix(sizeof(value));
  return value;
}

Result<ItemAnswer> read_item(std::string_view bytes) {
  ItemAnswer answer;
  answer.code = take<std::uint8_t>(bytes);
  if (answer.code > kUnknown) return failure(answer.code);
  if (const auto limit = take<std::uint8_t>(bytes); limit > 0) answer.limit = limit - 1;
  answer.now = from_us(take_real(bytes));
  answer.slot = from_us(take_real(bytes));
  answer.generation = take<std::uint32_t>(bytes);
  if (answer.code == kMoved)
    answer.owner = bytes;
  else
    answer.first_received = from_us(take_real(bytes));
  return answer;
}

}  // namespace

Packer& Packer::byte(std::size_t value) {
  out_.push_back(static_cast<char>(value));
  return *this;
}

Packer& Packer::number16(std::size_t value) {
  return byte(value & 0xff).byte(value >> 8);
}

Packer& Packer::number32(std::uint32_t value) {
  return number16(value & 0xffff).number16(value >> 16);
}

Packer& Packer::real(std::int64_t value) {
  const auto real = static_cast<double>(value);
  char raw[sizeof(real)];
  std::memcpy(raw, &real, sizeof(real));
  return bytes({raw, sizeof(raw)});
}

Packer& Packer::bytes(std::string_view value) {
  out_.append(value);
  return *this;
}

std::string pack_policy(const core::BookingPolicy& policy, WallTime now) {
  Packer out;
  out.byte(policy.spread == core::Spread::even ? 1 : 0).byte(policy.limits.size());
  out.real(policy.max_delay.count()).real(policy.id_retention.count());
  for (const core::Limit& limit : policy.limits) {
    out.byte(static_cast<std::size_t>(limit.algorithm)).real(limit.limit).real(limit.window.count());
    out.real(limit.capacity).bytes(shape_of(limit));
    const auto near = limit.zone ? transitions(*limit.zone, now) : std::vector<ZoneTransition>{};
    out.number16(near.size());
    for (const ZoneTransition& transition : near) out.time(transition.at).real(transition.utc_offset.count());
  }
  return out.take();
}

std::string digest_bytes(std::uint64_t digest) {
  std::string raw(sizeof(digest), '\0');
  std::memcpy(raw.data(), &digest, sizeof(digest));
  return raw;
}

std::int64_t take_real(std::string_view& bytes) {
  // Bytes that no script of ours wrote must not be a number that no integer holds.
  constexpr double kRealMax = static_cast<double>(std::int64_t{1} << 62);
  const auto real = take<double>(bytes);
  return real > -kRealMax && real < kRealMax ? static_cast<std::int64_t>(real) : 0;
}

Result<BatchAnswer> read_batch(std::string_view reply, std::size_t items) {
  const auto head = read_key(reply);
  if (!head) return std::unexpected(head.error());
  const std::size_t bytes = items * kItemBytes;
  if (head->rest.size() != bytes && head->rest.size() != bytes + sizeof(double))
    return fail(ErrorCode::corrupt, "redis: a booking script answered " + std::to_string(reply.size()) +
                                        " bytes to " + std::to_string(items) + " items");
  std::string_view since = head->rest.substr(bytes);
  BatchAnswer answer{.now = head->now, .items = {}, .since = take_real(since)};
  answer.items.reserve(items);
  for (std::size_t i = 0; i < items; ++i)
    answer.items.push_back(read_item(head->rest.substr(i * kItemBytes, kItemBytes)));
  return answer;
}

Result<KeyAnswer> read_key(std::string_view reply) {
  if (reply.size() < 1 + sizeof(double)) return failure(0);
  const auto code = take<std::uint8_t>(reply);
  if (code != 0) return failure(code);
  const WallTime now = from_us(take_real(reply));
  return KeyAnswer{.now = now, .rest = reply};
}

}  // namespace dripgate::store::wire
