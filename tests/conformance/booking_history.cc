#include "conformance/booking_history.h"

#include <algorithm>
#include <array>

#include "conformance/limits.h"
#include "core/fixed_window.h"

namespace dripgate::testing {
namespace {

using core::GateOutcome;
using core::ReserveOutcome;

constexpr std::uint64_t kBody = 7;

std::string text(WallTime t) {
  return std::to_string(to_us(t));
}

std::string words(const Result<core::ReserveAnswer>& answer) {
  if (!answer) return to_string(answer.error().code);
  return "reserve " + std::to_string(static_cast<int>(answer->outcome)) + " now " + text(answer->now) +
         " slot " + text(answer->slot) + " generation " + std::to_string(answer->generation) + " first " +
         text(answer->first_received) + " by " + std::to_string(answer->deciding_limit) + " until " +
         text(answer->valid_until);
}

std::string words(const Result<core::GateAnswer>& answer) {
  if (!answer) return to_string(answer.error().code);
  return "gate " + std::to_string(static_cast<int>(answer->outcome)) + " now " + text(answer->now) +
         " slot " + text(answer->slot) + " generation " + std::to_string(answer->generation) + " first " +
         text(answer->first_received) + " by " + std::to_string(answer->deciding_limit);
}

std::string words(const Result<core::KeyView>& view) {
  if (!view) return to_string(view.error().code);
  std::string all = "view now " + text(view->now) + " frozen " + text(view->frozen_until.value_or(kLongAgo)) +
                    " pending " + std::to_string(view->pending) + " last " +
                    text(view->last_slot.value_or(kLongAgo)) + " next " + text(view->next_slot) + " released";
  for (const core::Units units : view->released) all += " " + std::to_string(units);
  return all;
}

std::string words(const Result<void>& done) {
  return done ? "done" : to_string(done.error().code);
}

std::vector<core::Limit> family(int number) {
  switch (number % BookingHistory::kFamilies) {
    case 0:
      return {per(4, 10s)};
    case 1:
      return {per(2, 1s), per(6, 10s)};
    case 2:
      return {per(2, 2s), per(5, 7s)};  // windows that do not nest
    case 3:
      return {bucket(4, 10s, 3)};
    case 4:
      return {log_of(5, 10s)};
    default:
      return {bucket(8, 10s, 4), per(6, 10s), log_of(30, 60s)};
  }
}

}  // namespace

BookingHistory::BookingHistory(BookingWorld& world, BookingReached& reached)
    : reached_(reached),
      world_(world),
      clock_(world.clock),
      prefix_(std::to_string(++world.histories) + ":") {
  clock_.set(std::max(world.seen, clock_.now()) + 1h);
  began_ = world_.seen = clock_.now();
}

std::string BookingHistory::run(const std::vector<HistoryStep>& steps) {
  core::BookingPolicy chosen;
  const HistoryStep first = steps.empty() ? HistoryStep{} : steps.front();
  chosen.limits = family(first.a);
  chosen.spread = first.b % 2 == 0 ? core::Spread::even : core::Spread::start;
  chosen.max_delay = first.b % 4 < 2 ? Duration{60s} : Duration{1h};
  policy_ = std::make_shared<core::BookingPolicy>(chosen);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string wrong = step(steps[i]);
    if (!wrong.empty()) return "step " + std::to_string(i) + ": " + wrong;
  }
  return {};
}

template <class Answer, class Call, class Words>
std::string BookingHistory::both(Call call, Words to_words, Result<Answer>& answer) {
  if (clock_.now() < world_.seen) ++reached_.steps_bridged;
  world_.seen = std::max(world_.seen, clock_.now());
  answer =
      ask<Answer>(*world_.stores[0], [&](auto done) { call(world_.stores[0]->bookings(), std::move(done)); });
  const auto other =
      ask<Answer>(*world_.stores[1], [&](auto done) { call(world_.stores[1]->bookings(), std::move(done)); });
  const std::string a = to_words(answer);
  const std::string b = to_words(other);
  return a == b ? std::string{} : "the stores differ: " + a + " / " + b;
}

std::string BookingHistory::step(const HistoryStep& step) {
  switch (step.kind) {
    case 0:
    case 1:
    case 2:
    case 3:
      return newcomer(step);
    case 4:
      return repeat(step);
    case 5:
      return replay(step);
    case 6:
    case 7:
    case 8:
      return fire_next(step);
    case 9:
      return fire_any(step);
    case 10:
      return settle(step);
    case 11:
      return step.a % 2 == 0 ? give_back(step) : std::string{};
    case 12:
      return step.a % 2 == 0 ? freeze(step) : std::string{};
    case 13:
      return change_limit(step), std::string{};
    case 14:
      return step_clock_back();
    case 15:
      return step.a % 16 == 0 ? reset(step) : inspect(step);
    default:
      return clock_.advance(Duration{1ms} * (1 + step.a * step.b)), std::string{};
  }
}

std::string BookingHistory::newcomer(const HistoryStep& step) {
  Event event;
  event.ticket.key = name(step.key);
  event.ticket.event_id = prefix_ + "e" + std::to_string(events_.size());
  event.ticket.body_digest = kBody;
  event.ticket.cost = step.b % 8 == 0 ? 3 : step.b % 4 == 0 ? 2 : 1;
  if (event.ticket.cost > 1) ++reached_.costs_above_one;
  Event& kept = events_[event.ticket.event_id] = event;
  store::ReserveRequest request{.key = event.ticket.key,
                                .event_id = event.ticket.event_id,
                                .body_digest = kBody,
                                .cost = event.ticket.cost,
                                .first_received = {},
                                .after_generation = {},
                                .policy = policy()};
  if (step.a % 4 == 0) request.first_received = world_.seen - Duration{step.a * 10ms};
  return reserve(kept, std::move(request));
}

BookingHistory::Event* BookingHistory::pick(const HistoryStep& step, bool only_booked) {
  std::vector<Event*> found;
  for (auto& [id, event] : events_) {
    if (!only_booked || event.state == State::booked) found.push_back(&event);
  }
  return found.empty() ? nullptr : found[(step.a * 64 + step.b) % found.size()];
}

std::string BookingHistory::repeat(const HistoryStep& step) {
  Event* event = pick(step, false);
  if (event == nullptr) return {};
  return reserve(*event, {.key = event->ticket.key,
                          .event_id = event->ticket.event_id,
                          .body_digest = step.key == 3 ? kBody + 1 : kBody,
                          .cost = event->ticket.cost,
                          .first_received = {},
                          .after_generation = {},
                          .policy = policy()});
}

std::string BookingHistory::replay(const HistoryStep& step) {
  Event* event = pick(step, false);
  if (event == nullptr || event->state == State::booked) return {};
  ++reached_.replays;
  return reserve(*event, {.key = event->ticket.key,
                          .event_id = event->ticket.event_id,
                          .body_digest = kBody,
                          .cost = event->ticket.cost,
                          .first_received = world_.seen,
                          .after_generation = event->ticket.generation,
                          .policy = policy()});
}

std::string BookingHistory::reserve(Event& event, store::ReserveRequest request) {
  Result<core::ReserveAnswer> answer;
  const std::string wrong = both<core::ReserveAnswer>(
      [&](store::BookingStore& store, auto done) { store.reserve(request, std::move(done)); },
      [](const auto& a) { return words(a); }, answer);
  if (!wrong.empty() || !answer) return wrong;
  const bool same = event.ticket.generation == answer->generation;
  switch (answer->outcome) {
    case ReserveOutcome::now: {
      // In the windows of its release the same event goes again without a charge.
      const bool again = event.state == State::released && same && event.ticket.slot == answer->slot;
      event.ticket.generation = answer->generation;
      event.state = State::released;
      event.settled = false;
      event.ticket.slot = answer->slot;
      event.ticket.first_received = answer->first_received;
      return again ? std::string{} : released(event);
    }
    case ReserveOutcome::at:
      ++reached_.booked;
      if (event.state == State::booked && (!same || event.ticket.slot != answer->slot))
        return "it moved without a gate";
      event.counted = event.state == State::booked ? event.counted : true;
      event.state = State::booked;
      event.ticket.generation = answer->generation;
      event.ticket.slot = answer->slot;
      event.ticket.first_received = answer->first_received;
      if (answer->slot - answer->first_received > policy_->max_delay) return "booked beyond the horizon";
      return {};
    case ReserveOutcome::beyond_horizon:
      ++reached_.beyond;
      return {};
    case ReserveOutcome::impossible:
      ++reached_.impossible;
      return {};
    case ReserveOutcome::duplicate:
      ++reached_.duplicates;
      return {};
    case ReserveOutcome::conflict:
      ++reached_.conflicts;
      return {};
  }
  return {};
}

/// The next timer, at its time or late: what a drip does most.
std::string BookingHistory::fire_next(const HistoryStep& step) {
  Event* next = nullptr;
  for (auto& [id, event] : events_) {
    if (event.state == State::booked && (next == nullptr || event.ticket.slot < next->ticket.slot))
      next = &event;
  }
  if (next == nullptr) return {};
  const Duration late = step.a % 4 == 0 ? Duration{step.b * 50ms} : Duration{0};
  if (late > Duration{0}) ++reached_.late;
  clock_.set(std::max(world_.seen, next->ticket.slot + late));
  return gate(*next, next->ticket.generation);
}

/// Any timer at any time: early, duplicated, of an older generation, of an event that is over.
std::string BookingHistory::fire_any(const HistoryStep& step) {
  Event* event = pick(step, false);
  if (event == nullptr || event->ticket.slot == WallTime{}) return {};  // refused: it has no ticket
  const std::uint32_t back = step.key == 3 && event->ticket.generation > 0 ? 1 : 0;
  return gate(*event, event->ticket.generation - back);
}

std::string BookingHistory::gate(Event& event, std::uint32_t generation) {
  store::Ticket ticket = event.ticket;
  ticket.generation = generation;
  const store::GateRequest request{.ticket = ticket, .policy = policy()};
  Result<core::GateAnswer> answer;
  const std::string wrong = both<core::GateAnswer>(
      [&](store::BookingStore& store, auto done) { store.gate(request, std::move(done)); },
      [](const auto& a) { return words(a); }, answer);
  if (!wrong.empty() || !answer) return wrong;
  switch (answer->outcome) {
    case GateOutcome::go:
      if (event.state == State::booked && answer->now < event.ticket.slot) return "released before its slot";
      event.state = State::released;
      event.settled = false;
      event.ticket.slot = answer->slot;
      return released(event);
    case GateOutcome::rebook:
      if (event.state == State::released) ++reached_.leases;
      ++reached_.rebooked;
      event.ticket.generation = answer->generation;
      // A released event that waits for its lease stays released; one that found no room is booked again.
      if (event.state == State::booked || answer->slot != event.ticket.slot + kReleaseLease) {
        event.counted = event.counted || answer->slot != event.ticket.slot;
        event.state = State::booked;
        event.ticket.slot = answer->slot;
      }
      return {};
    case GateOutcome::beyond_horizon:
      ++reached_.beyond;
      event.state = State::over;
      return {};
    case GateOutcome::impossible:
      ++reached_.impossible;
      event.state = State::over;
      return {};
    case GateOutcome::duplicate:
      ++reached_.duplicates;
      return {};
  }
  return {};
}

std::string BookingHistory::settle(const HistoryStep& step) {
  Event* event = pick(step, false);
  if (event == nullptr) return {};
  Result<void> answer;
  return both<void>(
      [&](store::BookingStore& store, auto done) {
        store.done(event->ticket.key, event->ticket.event_id, event->ticket.generation, std::move(done));
      },
      [](const auto& a) { return words(a); }, answer);
}

std::string BookingHistory::give_back(const HistoryStep& step) {
  Event* event = pick(step, true);
  if (event == nullptr) return {};
  Result<void> answer;
  const std::string wrong = both<void>(
      [&](store::BookingStore& store, auto done) {
        store.release(event->ticket.key, event->ticket.event_id, event->ticket.generation, policy(),
                      std::move(done));
      },
      [](const auto& a) { return words(a); }, answer);
  event->state = State::over;
  ++reached_.given_back;
  return wrong;
}

std::string BookingHistory::freeze(const HistoryStep& step) {
  const std::string key = name(step.key);
  const WallTime until = world_.seen + Duration{step.b * 200ms};
  const bool thaws = step.b % 8 == 0;
  Result<void> answer;
  const std::string wrong = both<void>(
      [&](store::BookingStore& store, auto done) {
        thaws ? store.thaw(key, std::move(done)) : store.freeze(key, until, std::move(done));
      },
      [](const auto& a) { return words(a); }, answer);
  WallTime& frozen = frozen_.try_emplace(key, kLongAgo).first->second;
  frozen = thaws ? kLongAgo : std::max(frozen, until);
  ++reached_.frozen;
  return wrong;
}

std::string BookingHistory::reset(const HistoryStep& step) {
  const std::string key = name(step.key);
  Result<void> answer;
  const std::string wrong =
      both<void>([&](store::BookingStore& store, auto done) { store.reset(key, std::move(done)); },
                 [](const auto& a) { return words(a); }, answer);
  ++reached_.resets;
  std::erase_if(releases_, [&](const Release& r) { return r.key.starts_with(key + "/"); });
  for (auto& [id, event] : events_) {
    if (event.ticket.key == key) event.counted = false;
  }
  return wrong;
}

std::string BookingHistory::inspect(const HistoryStep& step) {
  const std::string key = name(step.key);
  Result<core::KeyView> view;
  const std::string wrong = both<core::KeyView>(
      [&](store::BookingStore& store, auto done) { store.inspect(key, policy(), std::move(done)); },
      [](const auto& a) { return words(a); }, view);
  if (!wrong.empty() || !view) return wrong;
  core::Units pending = 0;
  for (const auto& [id, event] : events_) {
    if (event.ticket.key == key && event.state == State::booked && event.counted)
      pending += event.ticket.cost;
  }
  // Lost timers age out: only then may the count be lower than what is still booked.
  const bool aged = world_.seen - began_ >= kLostTimerAge;
  if (view->pending > pending || (!aged && view->pending != pending)) {
    return "pending " + std::to_string(view->pending) + ", booked and not released " +
           std::to_string(pending);
  }
  return {};
}

std::string BookingHistory::step_clock_back() {
  clock_.set(std::max(world_.seen, clock_.now()));
  // What a killed store has written tells it the time: this call is written everywhere.
  const std::string wrong = newcomer({.kind = 0, .key = 0, .a = 1, .b = 1});
  clock_.set(world_.seen - Duration{1700ms});
  return wrong;
}

void BookingHistory::change_limit(const HistoryStep& step) {
  core::BookingPolicy changed = *policy_;
  core::Limit& limit = changed.limits[step.key % changed.limits.size()];
  limit.limit = 1 + step.a % 8;
  limit.capacity = limit.algorithm == core::Algorithm::token_bucket ? 1 + step.b % 4 : limit.limit;
  policy_ = std::make_shared<core::BookingPolicy>(changed);
  limits_changed_ = true;
  ++reached_.limit_changes;
}

}  // namespace dripgate::testing
