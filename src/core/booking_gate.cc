// gate: the second check, when a timer fires. Also the ends of a booking: settle, release, freeze, thaw.
#include <algorithm>
#include <limits>

#include "core/booking_book.h"

namespace dripgate::core {
namespace {

class Firing {
 public:
  Firing(KeyBook& book, EventRecord& record) : book_(book), record_(record) {}

  [[nodiscard]] GateAnswer run(std::uint32_t generation) {
    if (record_.generation != generation) return answer(GateOutcome::duplicate, due());
    switch (record_.state) {
      case EventState::booked:
        if (book_.now() >= record_.slot) return decide();
        ++record_.generation;  // early: the same slot, not a move
        return answer(GateOutcome::rebook, record_.slot);
      case EventState::released:
        return released_before();
      case EventState::dead_letter:  // whoever was told first may have died before writing it down
        return record_.slot > record_.first_received ? answer(GateOutcome::beyond_horizon, record_.slot)
                                                     : impossible();
      default:
        return answer(GateOutcome::duplicate, record_.slot);
    }
  }

 private:
  /// When the timer entry of the record's own generation fires: an older one may be asked to write it again.
  [[nodiscard]] WallTime due() const {
    return record_.state == EventState::released ? record_.slot + kReleaseLease : record_.slot;
  }

  [[nodiscard]] GateAnswer released_before() {
    if (book_.now() >= due()) return decide();
    ++record_.generation;
    if (record_.lease_waits < std::numeric_limits<std::uint8_t>::max()) ++record_.lease_waits;
    return answer(GateOutcome::rebook, due());
  }

  [[nodiscard]] GateAnswer decide() {
    const bool booked = record_.state == EventState::booked;
    if (book_.may_release(record_.cost)) return go(booked);
    if (book_.impossible(record_.cost)) {
      drop(booked);
      record_.state = EventState::dead_letter;
      record_.slot = record_.first_received;  // there never was one; one beyond the horizon lies later
      return impossible();
    }
    return rebook(booked);
  }

  [[nodiscard]] GateAnswer go(bool booked) {
    book_.charge(record_.cost, booked ? &record_ : nullptr);
    if (booked) book_.resolve(record_);
    record_.state = EventState::released;
    record_.slot = book_.now();
    record_.lease_waits = 0;
    return answer(GateOutcome::go, record_.slot);
  }

  [[nodiscard]] GateAnswer rebook(bool booked) {
    KeyState& state = book_.state();
    const WallTime from = std::max(book_.now(), state.frozen_until);
    if (booked) book_.unbook(record_);
    if (!booked && state.pending() == 0) state.leak_since = book_.now();
    book_.anchor(from);
    const Rebooking found = book_.search_again(record_, from);
    if (booked) book_.resolve(record_);
    if (found.place.at - record_.first_received > book_.policy().max_delay) {
      record_.state = EventState::dead_letter;
      record_.slot = found.place.at;
      return answer(GateOutcome::beyond_horizon, found.place);
    }
    book_.book_again(record_, found);
    ++record_.generation;
    return answer(GateOutcome::rebook, found.place);
  }

  void drop(bool booked) {
    if (!booked) return;
    book_.unbook(record_);
    book_.resolve(record_);
  }

  [[nodiscard]] GateAnswer impossible() const {
    GateAnswer refused = answer(GateOutcome::impossible, record_.slot);
    refused.deciding_limit = book_.impossible(record_.cost).value_or(0);
    return refused;
  }

  [[nodiscard]] GateAnswer answer(GateOutcome outcome, WallTime slot) const {
    return answer(outcome, Placement{slot, book_.deciding_limit(slot)});
  }

  [[nodiscard]] GateAnswer answer(GateOutcome outcome, const Placement& place) const {
    GateAnswer result;
    result.outcome = outcome;
    result.now = book_.now();
    result.slot = place.at;
    result.generation = record_.generation;
    result.first_received = record_.first_received;
    result.deciding_limit = place.deciding_limit;
    return result;
  }

  KeyBook& book_;
  EventRecord& record_;
};

/// The store was emptied: the ticket is the reservation. It stands in no cursor, but it is pending.
EventRecord from_ticket(KeyState& state, const GateInput& ticket) {
  EventRecord record;
  record.generation = ticket.generation;
  record.slot = ticket.slot;
  record.cost = ticket.cost;
  record.first_received = ticket.first_received;
  record.body_digest = ticket.body_digest;
  record.epoch = state.epoch - 1;
  record.leak = state.leak;
  if (state.pending() == 0) state.leak_since = state.last_seen;
  state.pending_new += ticket.cost;
  return record;
}

}  // namespace

Result<GateAnswer> gate(KeyState& state, std::optional<EventRecord>& record, const BookingPolicy& policy,
                        const GateInput& input, WallTime now, const PlanRule& rule) {
  if (!record && input.cost < 1)
    return fail(ErrorCode::invalid_argument,
                "ticket cost: " + std::to_string(input.cost) + "; accepted are whole numbers from 1");
  const bool emptied = state.last_seen == kLongAgo;
  KeyBook book(state, policy, rule);
  if (const auto entered = book.enter(now); !entered) return std::unexpected(entered.error());
  if (emptied && !record) book.mark_history_unknown();
  if (!record) record = from_ticket(state, input);
  return Firing(book, *record).run(input.generation);
}

Result<GateAnswer> gate(KeyState& state, std::optional<EventRecord>& record, const BookingPolicy& policy,
                        const GateInput& input, WallTime now) {
  return gate(state, record, policy, input, now, PlanRule{});
}

bool settle(EventRecord& record, std::uint32_t generation) {
  if (record.state != EventState::released) return false;
  // A timer that fired within the lease took a new generation; the release it waits for is the older one.
  if (generation > record.generation || record.generation - generation > record.lease_waits) return false;
  record.state = EventState::done;
  return true;
}

bool release(KeyState& state, EventRecord& record, const BookingPolicy& policy, std::uint32_t generation,
             WallTime now) {
  if (record.state != EventState::booked || record.generation != generation) return false;
  KeyBook book(state, policy, PlanRule{});
  // Giving back exceeds nothing, so a clock that stepped back further than the clamp does not refuse it.
  if (!book.enter(std::max(now, state.last_seen))) return false;
  book.unbook(record);
  book.resolve(record);
  record.state = EventState::given_back;
  return true;
}

void freeze(KeyState& state, WallTime until) {
  state.frozen_until = std::max(state.frozen_until, until);
}

void thaw(KeyState& state) {
  state.frozen_until = kLongAgo;
}

}  // namespace dripgate::core
