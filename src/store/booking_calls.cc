#include "store/booking_calls.h"

#include <algorithm>

namespace dripgate::store::calls {
namespace {

/// An event is remembered this much longer than it must be, so that its expiry stays the same from booking to
/// done: an index on it is written once, in ascending order.
constexpr Duration kExpirySlack = 10min;
/// A freeze of a key without bookings is remembered this much beyond its end.
constexpr Duration kFreezeKept = 24h;

WallTime keep_until(WallTime known, WallTime required) {
  return known >= required ? known : required + kExpirySlack;
}

void revive(KeyRow& key, WallTime now) {
  if (key.expires <= now) key = KeyRow{};
}

void revive(EventRow& event, WallTime now) {
  if (event.expires <= now) event = EventRow{};
}

// A key outlives every record of its events: a record says how its booking stands in the key's state.
void keep_key(KeyRow& key, const EventRow& event, const core::BookingPolicy& policy, WallTime now) {
  key.expires = std::max({key.expires, core::state_expiry(key.state, policy, now), event.expires});
}

template <class Answer, class Input>
Result<Answer> call(KeyRow& key, EventRow& event, const core::BookingPolicy& policy, const Input& input,
                    WallTime now, RowChanges& changes,
                    Result<Answer> (*core_call)(core::KeyState&, std::optional<core::EventRecord>&,
                                                const core::BookingPolicy&, const Input&, WallTime)) {
  revive(key, now);
  revive(event, now);
  const auto before = event.record;
  Result<Answer> answer = core_call(key.state, event.record, policy, input, now);
  if (!answer) return answer;
  changes.event = event.record.has_value() && event.record != before;
  if (changes.event)
    event.expires = keep_until(event.expires, core::record_expiry(*event.record, policy, answer->now));
  // Even a refusal moves the plan of a known key with the clock and the limits in force. A key that nothing
  // came of stays unknown.
  changes.key = changes.event || key.expires != kLongAgo;
  if (changes.key) keep_key(key, event, policy, answer->now);
  return answer;
}

}  // namespace

Result<core::ReserveAnswer> reserve(KeyRow& key, EventRow& event, const ReserveRequest& request, WallTime now,
                                    RowChanges& changes) {
  const core::ReserveInput input{.cost = request.cost,
                                 .body_digest = request.body_digest,
                                 .first_received = request.first_received,
                                 .after_generation = request.after_generation};
  return call<core::ReserveAnswer>(key, event, *request.policy, input, now, changes, &core::reserve);
}

Result<core::GateAnswer> gate(KeyRow& key, EventRow& event, const GateRequest& request, WallTime now,
                              RowChanges& changes) {
  const Ticket& ticket = request.ticket;
  const core::GateInput input{.generation = ticket.generation,
                              .slot = ticket.slot,
                              .cost = ticket.cost,
                              .first_received = ticket.first_received,
                              .body_digest = ticket.body_digest};
  return call<core::GateAnswer>(key, event, *request.policy, input, now, changes, &core::gate);
}

void settle(EventRow& event, std::uint32_t generation, WallTime now, RowChanges& changes) {
  revive(event, now);
  if (event.record) changes.event = core::settle(*event.record, generation);
}

void release(KeyRow& key, EventRow& event, const core::BookingPolicy& policy, std::uint32_t generation,
             WallTime now, RowChanges& changes) {
  revive(key, now);
  revive(event, now);
  if (!event.record || !core::release(key.state, *event.record, policy, generation, now)) return;
  changes = RowChanges{.key = true, .event = true};
  keep_key(key, event, policy, now);
}

void freeze(KeyRow& key, WallTime until, WallTime now, RowChanges& changes) {
  revive(key, now);
  const WallTime before = key.state.frozen_until;
  core::freeze(key.state, until);
  if (key.state.frozen_until == before) return;
  key.expires = std::max(key.expires, key.state.frozen_until + kFreezeKept);
  changes.key = true;
}

void thaw(KeyRow& key, WallTime now, RowChanges& changes) {
  revive(key, now);
  const WallTime before = key.state.frozen_until;
  core::thaw(key.state);
  changes.key = key.state.frozen_until != before;
}

void reset(KeyRow& key, WallTime now, RowChanges& changes) {
  revive(key, now);
  if (key.expires == kLongAgo) return;
  core::KeyState fresh;
  fresh.last_seen = key.state.last_seen;
  fresh.frozen_until = key.state.frozen_until;  // counters go, a freeze ends by thaw only
  // Records of before must not find their bookings in the fresh state.
  fresh.epoch = key.state.epoch + 1;
  fresh.leak = key.state.leak + 2;
  key.state = std::move(fresh);
  changes.key = true;
}

core::KeyView inspect(const KeyRow& key, const core::BookingPolicy& policy, WallTime now) {
  return core::inspect(key.expires <= now ? core::KeyState{} : key.state, policy, now);
}

Result<void> check(const core::BookingPolicyPtr& policy) {
  if (policy != nullptr && !policy->limits.empty() && policy->limits.size() <= kLimitsPerPolicyMax) return {};
  return fail(ErrorCode::invalid_argument,
              "booking: the policy is missing or has no limits; accepted are 1 to " +
                  std::to_string(kLimitsPerPolicyMax));
}

}  // namespace dripgate::store::calls
