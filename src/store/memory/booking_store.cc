#include "store/memory/booking_store.h"

#include <utility>

#include "store/memory/stores.h"

namespace dripgate::store {
namespace {

/// A stream lives in one of them, with all its keys: its event ids are unique across them.
constexpr std::size_t kShards = 64;

}  // namespace

MemoryBookingStore::MemoryBookingStore(Clock& clock, std::size_t keys_max)
    : clock_(clock), hash_(random_hash_key()), keys_(keys_max), events_(keys_max) {
  shards_.reserve(kShards);
  for (std::size_t i = 0; i < kShards; ++i) {
    shards_.push_back(std::make_unique<BookingShard>(hash_, keys_, events_));
  }
}

BookingShard& MemoryBookingStore::shard_of(std::uint64_t stream_hash) {
  return *shards_[stream_hash % kShards];
}

void MemoryBookingStore::make_room(WallTime now) {
  for (const auto& shard : shards_) shard->make_room(now);
}

template <class Answer, class Call>
Result<Answer> MemoryBookingStore::with_room(WallTime now, Call call) {
  if (auto answer = call()) return *std::move(answer);
  make_room(now);
  if (auto answer = call()) return *std::move(answer);
  return fail(ErrorCode::full,
              "the memory store holds as many keys or event ids as it may (keys_max) and all of them matter",
              /*transient=*/true);
}

void MemoryBookingStore::reserve(ReserveRequest request, Done<core::ReserveAnswer> done) {
  if (auto valid = calls::check(request.policy); !valid) return done(std::unexpected(valid.error()));
  const std::uint64_t hash = hash_(stream_of(request.key));
  BookingShard& shard = shard_of(hash);
  const EventRef event = shard.event(hash, request.key, request.event_id);
  const auto now = clock_.now();
  if (!now) return done(std::unexpected(now.error()));
  done(with_room<core::ReserveAnswer>(*now, [&] { return shard.reserve(event, request, *now); }));
}

void MemoryBookingStore::gate(GateRequest request, Done<core::GateAnswer> done) {
  if (auto valid = calls::check(request.policy); !valid) {
    return done(std::unexpected(valid.error()));
  }
  const std::uint64_t hash = hash_(stream_of(request.ticket.key));
  BookingShard& shard = shard_of(hash);
  const EventRef event = shard.event(hash, request.ticket.key, request.ticket.event_id);
  const auto now = clock_.now();
  if (!now) return done(std::unexpected(now.error()));
  done(with_room<core::GateAnswer>(*now, [&] { return shard.gate(event, request, *now); }));
}

void MemoryBookingStore::done(std::string key, std::string event_id, std::uint32_t generation,
                              Done<void> done) {
  const std::uint64_t hash = hash_(stream_of(key));
  BookingShard& shard = shard_of(hash);
  const EventRef event = shard.event(hash, key, event_id);
  const auto now = clock_.now();
  if (!now) return done(std::unexpected(now.error()));
  shard.settle(event, generation, *now);
  done({});
}

void MemoryBookingStore::release(std::string key, std::string event_id, std::uint32_t generation,
                                 core::BookingPolicyPtr policy, Done<void> done) {
  if (auto valid = calls::check(policy); !valid) return done(std::unexpected(valid.error()));
  const std::uint64_t hash = hash_(stream_of(key));
  BookingShard& shard = shard_of(hash);
  const EventRef event = shard.event(hash, key, event_id);
  const auto now = clock_.now();
  if (!now) return done(std::unexpected(now.error()));
  shard.release(event, generation, policy, *now);
  done({});
}

void MemoryBookingStore::freeze(std::string key, WallTime until, Done<void> done) {
  const auto now = clock_.now();
  if (!now) return done(std::unexpected(now.error()));
  BookingShard& shard = shard_of(hash_(stream_of(key)));
  const auto frozen = with_room<bool>(*now, [&]() -> std::optional<Result<bool>> {
    if (!shard.freeze(key, until, *now)) return std::nullopt;
    return true;
  });
  if (!frozen) return done(std::unexpected(frozen.error()));
  done({});
}

void MemoryBookingStore::thaw(std::string key, Done<void> done) {
  const auto now = clock_.now();
  if (!now) return done(std::unexpected(now.error()));
  shard_of(hash_(stream_of(key))).thaw(key, *now);
  done({});
}

void MemoryBookingStore::reset(std::string key, Done<void> done) {
  const auto now = clock_.now();
  if (!now) return done(std::unexpected(now.error()));
  shard_of(hash_(stream_of(key))).reset(key, *now);
  done({});
}

void MemoryBookingStore::inspect(std::string key, core::BookingPolicyPtr policy, Done<core::KeyView> done) {
  if (auto valid = calls::check(policy); !valid) return done(std::unexpected(valid.error()));
  const auto now = clock_.now();
  if (!now) return done(std::unexpected(now.error()));
  done(shard_of(hash_(stream_of(key))).inspect(key, *policy, *now));
}

std::unique_ptr<BookingStore> make_memory_booking_store(Clock& clock, std::size_t keys_max) {
  return std::make_unique<MemoryBookingStore>(clock, keys_max);
}

}  // namespace dripgate::store
