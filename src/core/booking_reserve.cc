// reserve: books one event at the tail, or releases it now. A reservation belongs to its event id: asked
// again, it answers what the record says and books nothing.
#include <algorithm>

#include "core/booking_book.h"

namespace dripgate::core {
namespace {

class Reservation {
 public:
  Reservation(KeyBook& book, std::optional<EventRecord>& record, const ReserveInput& input)
      : book_(book), record_(record), input_(input) {}

  [[nodiscard]] ReserveAnswer run() {
    if (!record_ || starts_over()) return fresh();
    if (record_->body_digest != input_.body_digest) return answer(ReserveOutcome::conflict, record_->slot);
    return repeated();
  }

 private:
  /// The next delivery attempt or a replayed dead letter: it names the generation that is over.
  [[nodiscard]] bool starts_over() const {
    if (record_->body_digest != input_.body_digest) return false;
    if (record_->state == EventState::given_back) return true;
    // A firing inside the release lease took a new generation of the same release.
    return input_.after_generation && record_->state != EventState::booked &&
           record_->generation <= *input_.after_generation + record_->lease_waits;
  }

  [[nodiscard]] ReserveAnswer repeated() {
    switch (record_->state) {
      case EventState::booked:
        return answer(ReserveOutcome::at, record_->slot);
      case EventState::released:
        return released_before();
      default:
        return answer(ReserveOutcome::duplicate, record_->slot);
    }
  }

  /// Released, and nobody has said that it arrived. In its own windows it goes again uncharged; later it
  /// is a release like any other, and goes through the gate's test.
  [[nodiscard]] ReserveAnswer released_before() {
    if (book_.now() < book_.release_valid_until(record_->slot))
      return answer(ReserveOutcome::now, record_->slot);
    if (const auto limit = book_.impossible(record_->cost)) return impossible(*limit);
    if (!book_.may_release(record_->cost)) {
      start_leak();
      book_.anchor(earliest());
      EventRecord next = *record_;
      ++next.generation;
      return book(next);
    }
    book_.charge(record_->cost, nullptr);
    record_->slot = book_.now();
    return answer(ReserveOutcome::now, record_->slot);
  }

  [[nodiscard]] ReserveAnswer fresh() {
    const EventRecord next = next_record();
    if (const auto limit = book_.impossible(next.cost)) return impossible(*limit);
    start_leak();
    book_.anchor(earliest());
    if (!book_.newcomer_may_pass(next.cost)) return book(next);
    book_.charge_newcomer(next.cost);
    record_ = next;
    record_->state = EventState::released;
    record_->slot = book_.now();
    return answer(ReserveOutcome::now, record_->slot);
  }

  [[nodiscard]] EventRecord next_record() const {
    EventRecord next;
    next.cost = input_.cost;
    next.body_digest = input_.body_digest;
    next.first_received = input_.first_received.value_or(record_ ? record_->first_received : book_.now());
    if (input_.after_generation) next.generation = *input_.after_generation + 1;
    if (record_) next.generation = std::max(next.generation, record_->generation + 1);
    return next;
  }

  [[nodiscard]] ReserveAnswer book(EventRecord next) {
    const KeyState& state = book_.state();
    const Placement place = book_.place(state.tail, earliest(), next.cost, book_.policy().spread);
    if (place.at - next.first_received > book_.policy().max_delay) {
      ReserveAnswer beyond = answer(ReserveOutcome::beyond_horizon, place.at);
      beyond.first_received = next.first_received;
      beyond.deciding_limit = place.deciding_limit;
      return beyond;
    }
    book_.book_at_tail(next, place.at);
    record_ = next;
    ReserveAnswer at = answer(ReserveOutcome::at, place.at);
    at.deciding_limit = place.deciding_limit;
    return at;
  }

  [[nodiscard]] WallTime earliest() const {
    const KeyState& state = book_.state();
    return std::max({book_.now(), state.frozen_until, state.unknown_until});
  }

  void start_leak() {
    if (book_.state().pending() == 0) book_.state().leak_since = book_.now();
  }

  [[nodiscard]] ReserveAnswer impossible(std::size_t limit) const {
    ReserveAnswer refused = answer(ReserveOutcome::impossible, book_.now());
    refused.deciding_limit = limit;
    return refused;
  }

  [[nodiscard]] ReserveAnswer answer(ReserveOutcome outcome, WallTime slot) const {
    ReserveAnswer result;
    result.outcome = outcome;
    result.now = book_.now();
    result.slot = slot;
    result.generation = record_ ? record_->generation : input_.after_generation.value_or(0);
    result.first_received = record_ ? record_->first_received : input_.first_received.value_or(book_.now());
    result.deciding_limit = book_.deciding_limit(slot);
    if (outcome == ReserveOutcome::now) result.valid_until = book_.release_valid_until(slot);
    return result;
  }

  KeyBook& book_;
  std::optional<EventRecord>& record_;
  const ReserveInput& input_;
};

}  // namespace

Result<ReserveAnswer> reserve(KeyState& state, std::optional<EventRecord>& record,
                              const BookingPolicy& policy, const ReserveInput& input, WallTime now,
                              const PlanRule& rule) {
  if (input.cost < 1)
    return fail(ErrorCode::invalid_argument,
                "cost: " + std::to_string(input.cost) + "; accepted are whole numbers from 1");
  KeyBook book(state, policy, rule);
  if (const auto entered = book.enter(now); !entered) return std::unexpected(entered.error());
  return Reservation(book, record, input).run();
}

Result<ReserveAnswer> reserve(KeyState& state, std::optional<EventRecord>& record,
                              const BookingPolicy& policy, const ReserveInput& input, WallTime now) {
  return reserve(state, record, policy, input, now, PlanRule{});
}

}  // namespace dripgate::core
