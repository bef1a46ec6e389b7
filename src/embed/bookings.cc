#include "embed/bookings.h"

#include <utility>

#include "base/limits.h"
#include "embed/outward.h"

namespace dripgate::embed {
namespace {

v1::Error refuse(std::string detail) {
  return {v1::ErrorCode::invalid_argument, false, std::move(detail)};
}

std::optional<v1::Error> wrong(std::string_view event_id, std::string_view key, std::int64_t cost) {
  if (event_id.empty() || event_id.size() > kEventIdBytesMax)
    return refuse("event_id: accepted: 1 to " + std::to_string(kEventIdBytesMax) + " bytes");
  if (key.empty() || key.size() > kBookingKeyBytesMax)
    return refuse("key: accepted: 1 to " + std::to_string(kBookingKeyBytesMax) + " bytes");
  if (cost < 1) return refuse("cost: accepted: a whole number, 1 or more");
  return std::nullopt;
}

v1::ReserveVerdict verdict_of(core::ReserveOutcome outcome) {
  switch (outcome) {
    case core::ReserveOutcome::now:
      return v1::ReserveVerdict::now;
    case core::ReserveOutcome::at:
      return v1::ReserveVerdict::at;
    case core::ReserveOutcome::beyond_horizon:
      return v1::ReserveVerdict::beyond_horizon;
    case core::ReserveOutcome::impossible:
      return v1::ReserveVerdict::impossible;
    case core::ReserveOutcome::duplicate:
      return v1::ReserveVerdict::duplicate;
    case core::ReserveOutcome::conflict:
      return v1::ReserveVerdict::conflict;
  }
  std::unreachable();
}

v1::GateVerdict verdict_of(core::GateOutcome outcome) {
  switch (outcome) {
    case core::GateOutcome::go:
      return v1::GateVerdict::go;
    case core::GateOutcome::rebook:
      return v1::GateVerdict::rebook;
    case core::GateOutcome::beyond_horizon:
      return v1::GateVerdict::beyond_horizon;
    case core::GateOutcome::impossible:
      return v1::GateVerdict::impossible;
    case core::GateOutcome::duplicate:
      return v1::GateVerdict::duplicate;
  }
  std::unreachable();
}

v1::Limit limit_of(const core::BookingPolicy& policy, std::size_t index) {
  return index < policy.limits.size() ? outward(policy.limits[index]) : v1::Limit{};
}

/// The ticket with what the store has answered; where it moved a booking, the new one.
template <class Told>
v1::Ticket booked(v1::Ticket ticket, const Told& told) {
  ticket.generation = told.generation;
  ticket.slot = told.slot;
  ticket.first_received = told.first_received;
  return ticket;
}

store::Ticket inward(const v1::Ticket& ticket, std::string key) {
  return {.key = std::move(key),
          .event_id = ticket.event_id,
          .body_digest = ticket.body_digest,
          .generation = ticket.generation,
          .slot = ticket.slot,
          .cost = ticket.cost,
          .first_received = ticket.first_received};
}

Done<void> telling(Owed<v1::Done> owed) {
  return [owed = std::move(owed)](Result<void> done) mutable {
    done ? owed.give(v1::Done{}) : owed.give(outward(done.error()));
  };
}

}  // namespace

template <class T>
core::BookingPolicyPtr Bookings::policy(v1::Span horizon, Owed<T>& owed) {
  core::BookingPolicyPtr policy = booking_();
  if (policy == nullptr) {
    owed.give(v1::Error{v1::ErrorCode::not_found, false, "stream '" + stream_ + "' is not in the config"});
    return nullptr;
  }
  if (horizon == v1::Span{0} || horizon == policy->max_delay) return policy;
  if (horizon < v1::Span{0} || horizon > kHorizonMax) {
    owed.give(refuse("horizon: accepted: more than 0, at most 30 days"));
    return nullptr;
  }
  auto own = std::make_shared<core::BookingPolicy>(*policy);
  own->max_delay = horizon;
  return own;
}

void Bookings::reserve(const v1::ReserveRequest& request, std::uint64_t body_digest,
                       Owed<v1::Reservation> owed) {
  if (auto error = wrong(request.event_id, request.key, request.cost)) return owed.give(*std::move(error));
  v1::Ticket ticket{.event_id = request.event_id,
                    .key = request.key,
                    .cost = request.cost,
                    .body_digest = body_digest,
                    .horizon = request.horizon.value_or(v1::Span{0})};
  const core::BookingPolicyPtr policy = this->policy(ticket.horizon, owed);
  if (policy == nullptr) return;
  store::ReserveRequest asked{.key = key_of(request.key),
                              .event_id = request.event_id,
                              .body_digest = body_digest,
                              .cost = request.cost,
                              .first_received = request.first_received,
                              .after_generation = request.after_generation,
                              .policy = policy};
  store_.reserve(std::move(asked), [owed = std::move(owed), ticket = std::move(ticket),
                                    policy](Result<core::ReserveAnswer> told) mutable {
    if (!told) return owed.give(outward(told.error()));
    owed.give(v1::Reservation{.verdict = verdict_of(told->outcome),
                              .ticket = booked(std::move(ticket), *told),
                              .now = told->now,
                              .slot = told->slot,
                              .valid_until = told->valid_until,
                              .limit = limit_of(*policy, told->deciding_limit)});
  });
}

void Bookings::gate(v1::Ticket ticket, Owed<v1::Firing> owed) {
  if (auto error = wrong(ticket.event_id, ticket.key, ticket.cost)) return owed.give(*std::move(error));
  const core::BookingPolicyPtr policy = this->policy(ticket.horizon, owed);
  if (policy == nullptr) return;
  store::GateRequest asked{.ticket = inward(ticket, key_of(ticket.key)), .policy = policy};
  store_.gate(std::move(asked), [owed = std::move(owed), ticket = std::move(ticket),
                                 policy](Result<core::GateAnswer> told) mutable {
    if (!told) return owed.give(outward(told.error()));
    // Whoever was told of the newer booking may have died before its entry was written: it is told again.
    const bool older = told->outcome == core::GateOutcome::duplicate && told->generation > ticket.generation;
    const bool moved =
        older || told->outcome == core::GateOutcome::rebook || told->outcome == core::GateOutcome::go;
    owed.give(v1::Firing{.verdict = older ? v1::GateVerdict::rebook : verdict_of(told->outcome),
                         .ticket = moved ? booked(std::move(ticket), *told) : std::move(ticket),
                         .now = told->now,
                         .slot = told->slot,
                         .limit = limit_of(*policy, told->deciding_limit)});
  });
}

void Bookings::settle(const std::vector<v1::Ticket>& tickets, Owed<v1::Done> owed) {
  struct Batch {
    Owed<v1::Done> owed;
    std::size_t left;
    std::optional<v1::Error> first{};
  };
  if (tickets.empty()) return owed.give(v1::Done{});
  auto batch = std::make_shared<Batch>(Batch{.owed = std::move(owed), .left = tickets.size()});
  for (const v1::Ticket& ticket : tickets) {
    store_.done(key_of(ticket.key), ticket.event_id, ticket.generation, [batch](Result<void> done) {
      if (!done && !batch->first) batch->first = outward(done.error());
      if (--batch->left > 0) return;
      batch->first ? batch->owed.give(*batch->first) : batch->owed.give(v1::Done{});
    });
  }
}

void Bookings::release(const v1::Ticket& ticket, Owed<v1::Done> owed) {
  const core::BookingPolicyPtr policy = this->policy(ticket.horizon, owed);
  if (policy == nullptr) return;
  store_.release(key_of(ticket.key), ticket.event_id, ticket.generation, policy, telling(std::move(owed)));
}

void Bookings::freeze(const std::string& key, v1::TimePoint until, Owed<v1::Done> owed) {
  store_.freeze(key_of(key), until, telling(std::move(owed)));
}

void Bookings::thaw(const std::string& key, Owed<v1::Done> owed) {
  store_.thaw(key_of(key), telling(std::move(owed)));
}

void Bookings::inspect(const std::string& key, Owed<v1::KeyState> owed) {
  const core::BookingPolicyPtr policy = this->policy(v1::Span{0}, owed);
  if (policy == nullptr) return;
  store_.inspect(key_of(key), policy, [owed = std::move(owed), policy](Result<core::KeyView> told) mutable {
    if (!told) return owed.give(outward(told.error()));
    v1::KeyState state{.now = told->now,
                       .frozen_until = told->frozen_until,
                       .pending = told->pending,
                       .last_slot = told->last_slot,
                       .next_slot = told->next_slot,
                       .released = std::move(told->released)};
    for (const core::Limit& limit : policy->limits) state.limits.push_back(outward(limit));
    owed.give(std::move(state));
  });
}

}  // namespace dripgate::embed
