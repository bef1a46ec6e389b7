// What the BookingStore conformance tests share: calls in milliseconds, answers as words, and a memory of the
// tickets that a timer would carry.
#pragma once

#include <map>
#include <string>

#include "conformance/backends.h"
#include "conformance/limits.h"
#include "support/virtual_time.h"

namespace dripgate::testing {

class BookingConformance : public ::testing::TestWithParam<Backend> {
 protected:
  using Milliseconds = std::int64_t;

  static WallTime ms(Milliseconds t) { return from_us(t * 1000); }
  static std::string text(WallTime t) {
    const std::int64_t us = to_us(t);
    return us % 1000 == 0 ? std::to_string(us / 1000) : std::to_string(us) + "us";
  }

  void use(std::vector<core::Limit> limits, core::Spread spread = core::Spread::start) {
    policy.limits = std::move(limits);
    policy.spread = spread;
  }

  Result<core::ReserveAnswer> try_reserve(store::ReserveRequest request) {
    request.policy = std::make_shared<core::BookingPolicy>(policy);
    const auto answer = ask<core::ReserveAnswer>(
        *under, [&](auto done) { under->bookings().reserve(request, std::move(done)); });
    if (answer && answer->outcome == core::ReserveOutcome::at) {
      tickets[request.event_id] = {.key = request.key,
                                   .event_id = request.event_id,
                                   .body_digest = request.body_digest,
                                   .generation = answer->generation,
                                   .slot = answer->slot,
                                   .cost = request.cost,
                                   .first_received = answer->first_received};
    }
    return answer;
  }
  store::ReserveRequest request(const std::string& id, core::Units cost = 1) {
    return {.key = key,
            .event_id = id,
            .body_digest = 7,
            .cost = cost,
            .first_received = {},
            .after_generation = {},
            .policy = {}};
  }
  static std::string words(const Result<core::ReserveAnswer>& answer) {
    if (!answer) return std::string("ERROR ") + to_string(answer.error().code);
    switch (answer->outcome) {
      case core::ReserveOutcome::now:
        return "NOW";
      case core::ReserveOutcome::at:
        return "AT " + text(answer->slot);
      case core::ReserveOutcome::beyond_horizon:
        return "BEYOND " + text(answer->slot);
      case core::ReserveOutcome::impossible:
        return "IMPOSSIBLE";
      case core::ReserveOutcome::duplicate:
        return "DUPLICATE";
      case core::ReserveOutcome::conflict:
        return "CONFLICT";
    }
    return "?";
  }
  static std::string words(const Result<core::GateAnswer>& answer) {
    if (!answer) return std::string("ERROR ") + to_string(answer.error().code);
    switch (answer->outcome) {
      case core::GateOutcome::go:
        return "GO";
      case core::GateOutcome::rebook:
        return "REBOOK " + text(answer->slot);
      case core::GateOutcome::beyond_horizon:
        return "BEYOND " + text(answer->slot);
      case core::GateOutcome::impossible:
        return "IMPOSSIBLE";
      case core::GateOutcome::duplicate:
        return "DUPLICATE";
    }
    return "?";
  }

  /// reserve(id, cost) at `at`.
  std::string r(const std::string& id, core::Units cost, Milliseconds at) {
    clock.set(ms(at));
    return words(try_reserve(request(id, cost)));
  }
  Result<core::GateAnswer> try_gate(const std::string& id, std::uint32_t generation) {
    store::Ticket ticket = tickets.at(id);
    ticket.generation = generation;
    const store::GateRequest asked{.ticket = ticket, .policy = std::make_shared<core::BookingPolicy>(policy)};
    const auto answer =
        ask<core::GateAnswer>(*under, [&](auto done) { under->bookings().gate(asked, std::move(done)); });
    if (answer && answer->outcome == core::GateOutcome::rebook) {
      tickets[id].slot = answer->slot;
      tickets[id].generation = answer->generation;
    }
    return answer;
  }
  /// gate(id, generation) at `at`.
  std::string g(const std::string& id, std::uint32_t generation, Milliseconds at) {
    clock.set(ms(at));
    return words(try_gate(id, generation));
  }
  Result<void> done(const std::string& id, std::uint32_t generation) {
    return ask<void>(*under,
                     [&](auto then) { under->bookings().done(key, id, generation, std::move(then)); });
  }
  Result<void> release(const std::string& id, std::uint32_t generation) {
    return ask<void>(*under, [&](auto then) {
      under->bookings().release(key, id, generation, std::make_shared<core::BookingPolicy>(policy),
                                std::move(then));
    });
  }
  Result<void> freeze(Milliseconds until) {
    return ask<void>(*under, [&](auto then) { under->bookings().freeze(key, ms(until), std::move(then)); });
  }
  Result<void> thaw() {
    return ask<void>(*under, [&](auto then) { under->bookings().thaw(key, std::move(then)); });
  }
  Result<void> reset() {
    return ask<void>(*under, [&](auto then) { under->bookings().reset(key, std::move(then)); });
  }
  core::KeyView inspect() {
    const auto view = ask<core::KeyView>(*under, [&](auto then) {
      under->bookings().inspect(key, std::make_shared<core::BookingPolicy>(policy), std::move(then));
    });
    EXPECT_TRUE(view) << view.error().detail;
    return view.value_or(core::KeyView{});
  }
  core::Units pending() { return inspect().pending; }

  VirtualClock clock{WallTime{}};
  std::unique_ptr<StoreUnderTest> under = GetParam().make(clock);
  core::BookingPolicy policy{.limits = {per(2, 60s)}, .spread = core::Spread::start};
  std::string key = "payouts:merchant_1:payout";
  std::map<std::string, store::Ticket> tickets;
};

}  // namespace dripgate::testing
