#include "store/redis/booking_store.h"

#include <utility>

#include "core/booking_book.h"
#include "store/booking_calls.h"
#include "store/redis/lua/texts.h"

namespace dripgate::store {
namespace {

const redis::Script kReserve{lua::reserve};
const redis::Script kGate{lua::gate};
const redis::Script kDone{lua::done};
const redis::Script kRelease{lua::release};
const redis::Script kFreeze{lua::freeze};
const redis::Script kThaw{lua::thaw};
const redis::Script kForget{lua::forget};
const redis::Script kInspect{lua::inspect_key};

enum : std::uint8_t { kHasFirst = 1, kHasAfter = 2 };  // flags of a reserve item

/// What core says of a slot and the policy alone is not asked of Redis.
template <class Call>
auto of_policy(const core::BookingPolicy& policy, Call call) {
  core::KeyState nothing;
  return call(core::KeyBook(nothing, policy, core::PlanRule{}));
}

std::size_t deciding_limit(const wire::ItemAnswer& answer, const core::BookingPolicy& policy) {
  if (answer.limit) return *answer.limit;
  return of_policy(policy, [&](const core::KeyBook& book) { return book.deciding_limit(answer.slot); });
}

core::ReserveAnswer reserve_answer(const wire::ItemAnswer& heard, const core::BookingPolicy& policy) {
  core::ReserveAnswer answer{.outcome = static_cast<core::ReserveOutcome>(heard.code),
                             .now = heard.now,
                             .slot = heard.slot,
                             .generation = heard.generation,
                             .first_received = heard.first_received,
                             .deciding_limit = deciding_limit(heard, policy),
                             .valid_until = {}};
  if (answer.outcome == core::ReserveOutcome::now)
    answer.valid_until =
        of_policy(policy, [&](const core::KeyBook& book) { return book.release_valid_until(heard.slot); });
  return answer;
}

core::GateAnswer gate_answer(const wire::ItemAnswer& heard, const core::BookingPolicy& policy) {
  return {.outcome = static_cast<core::GateOutcome>(heard.code),
          .now = heard.now,
          .slot = heard.slot,
          .generation = heard.generation,
          .first_received = heard.first_received,
          .deciding_limit = deciding_limit(heard, policy)};
}

core::KeyView key_view(std::string_view bytes, std::size_t limits) {
  core::KeyView view;
  view.now = from_us(wire::take_real(bytes));
  const WallTime frozen = from_us(wire::take_real(bytes));
  if (frozen > view.now) view.frozen_until = frozen;
  view.pending = wire::take_real(bytes);
  const WallTime tail = from_us(wire::take_real(bytes));
  if (view.pending > 0) view.last_slot = tail;
  view.next_slot = from_us(wire::take_real(bytes));
  for (std::size_t i = 0; i < limits; ++i) view.released.push_back(wire::take_real(bytes));
  return view;
}

Done<wire::ItemAnswer> without_answer(Done<void> done) {
  return [done = std::move(done)](Result<wire::ItemAnswer> answer) mutable {
    if (!answer) return done(std::unexpected(answer.error()));
    done({});
  };
}

}  // namespace

RedisBookingStore::RedisBookingStore(redis::Client& client, const RedisBookingOptions& options)
    : client_(client), routes_(client, BookingNames(options.key_prefix, options.partitions)) {}

void RedisBookingStore::reserve(ReserveRequest request, Done<core::ReserveAnswer> done) {
  if (auto valid = calls::check(request.policy); !valid) return done(std::unexpected(valid.error()));
  if (request.cost < 1)
    return done(fail(ErrorCode::invalid_argument,
                     "cost: " + std::to_string(request.cost) + "; accepted are whole numbers from 1"));
  std::uint8_t flags = 0;
  if (request.first_received) flags |= kHasFirst;
  if (request.after_generation) flags |= kHasAfter;
  wire::Packer rest;
  rest.bytes(wire::digest_bytes(request.body_digest)).real(request.cost);
  wire::Packer extra;
  if (request.first_received) extra.time(*request.first_received);
  if (request.after_generation) extra.number32(*request.after_generation);
  routes_.ask({.kind = EventCall::Kind::books,
               .script = &kReserve,
               .key = std::move(request.key),
               .event_id = std::move(request.event_id),
               .policy = request.policy,
               .flags = flags,
               .rest = rest.take(),
               .extra = extra.take(),
               .done = [policy = request.policy, done = std::move(done)](auto heard) mutable {
                 if (!heard) return done(std::unexpected(heard.error()));
                 done(reserve_answer(*heard, *policy));
               }});
}

void RedisBookingStore::gate(GateRequest request, Done<core::GateAnswer> done) {
  if (auto valid = calls::check(request.policy); !valid) return done(std::unexpected(valid.error()));
  Ticket& ticket = request.ticket;
  wire::Packer rest;
  rest.bytes(wire::digest_bytes(ticket.body_digest)).real(ticket.cost).time(ticket.first_received);
  rest.number32(ticket.generation).time(ticket.slot);
  routes_.ask({.kind = EventCall::Kind::fires,
               .script = &kGate,
               .key = std::move(ticket.key),
               .event_id = std::move(ticket.event_id),
               .policy = request.policy,
               .flags = 0,
               .rest = rest.take(),
               .extra = {},
               .done = [policy = request.policy, done = std::move(done)](auto heard) mutable {
                 if (!heard) return done(std::unexpected(heard.error()));
                 done(gate_answer(*heard, *policy));
               }});
}

void RedisBookingStore::done(std::string key, std::string event_id, std::uint32_t generation,
                             Done<void> done) {
  routes_.ask({.kind = EventCall::Kind::settles,
               .script = &kDone,
               .key = std::move(key),
               .event_id = std::move(event_id),
               .policy = nullptr,
               .flags = 0,
               .rest = wire::Packer{}.number32(generation).take(),
               .extra = {},
               .done = without_answer(std::move(done))});
}

void RedisBookingStore::release(std::string key, std::string event_id, std::uint32_t generation,
                                core::BookingPolicyPtr policy, Done<void> done) {
  if (auto valid = calls::check(policy); !valid) return done(std::unexpected(valid.error()));
  routes_.ask({.kind = EventCall::Kind::returns,
               .script = &kRelease,
               .key = std::move(key),
               .event_id = std::move(event_id),
               .policy = std::move(policy),
               .flags = 0,
               .rest = wire::Packer{}.number32(generation).take(),
               .extra = {},
               .done = without_answer(std::move(done))});
}

void RedisBookingStore::freeze(std::string key, WallTime until, Done<void> done) {
  ask_key(kFreeze, key, wire::Packer{}.time(until).take(), std::move(done));
}

void RedisBookingStore::thaw(std::string key, Done<void> done) {
  ask_key(kThaw, key, {}, std::move(done));
}

void RedisBookingStore::reset(std::string key, Done<void> done) {
  ask_key(kForget, key, {}, std::move(done));
}

void RedisBookingStore::inspect(std::string key, core::BookingPolicyPtr policy, Done<core::KeyView> done) {
  if (auto valid = calls::check(policy); !valid) return done(std::unexpected(valid.error()));
  const WallTime near = routes_.clocks().latest(0);
  ask_key(kInspect, key, wire::pack_policy(*policy, near),
          [limits = policy->limits.size(), done = std::move(done)](Result<wire::KeyAnswer> heard) mutable {
            if (!heard) return done(std::unexpected(heard.error()));
            done(key_view(heard->rest, limits));
          });
}

void RedisBookingStore::ask_key(const redis::Script& script, const std::string& key,
                                const std::string& argument, Done<wire::KeyAnswer> done) {
  const KeyTag tag = BookingNames::tag_of(key);
  const BookingNames& names = routes_.names();
  const std::string row = BookingNames::row(names.place(stream_of(key), names.partition_of(tag)), tag);
  const std::size_t shard = client_.shard(row);
  const WallTime floor = routes_.clocks().latest(shard);
  const std::string latest = std::to_string(to_us(floor));
  const std::string_view keys[] = {row};
  const std::string_view arguments[] = {latest, argument};
  client_.run(script, keys, arguments,
              guard_.wrap([this, shard, floor, done = std::move(done)](Result<redis::Reply> reply) mutable {
                if (!reply) return done(std::unexpected(reply.error()));
                const std::string* bytes = reply->text();
                auto answer = wire::read_key(bytes == nullptr ? std::string_view{} : *bytes);
                if (answer) (void)routes_.clocks().now(shard, floor, answer->now);
                done(std::move(answer));
              }));
}

void RedisBookingStore::ask_key(const redis::Script& script, const std::string& key,
                                const std::string& argument, Done<void> done) {
  ask_key(script, key, argument,
          Done<wire::KeyAnswer>([done = std::move(done)](Result<wire::KeyAnswer> answer) mutable {
            if (!answer) return done(std::unexpected(answer.error()));
            done({});
          }));
}

std::unique_ptr<BookingStore> make_redis_booking_store(redis::Client& client, RedisBookingOptions options) {
  return std::make_unique<RedisBookingStore>(client, options);
}

}  // namespace dripgate::store
