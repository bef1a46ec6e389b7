// Planner: from an answer of the store or the sink to what is done next. Pure: every decision of the drip
// that is not the store's stands here, and tests ask it without a port.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "broker/sink.h"
#include "core/booking_types.h"
#include "drip/event.h"

namespace dripgate::drip {

/// The store let the event go at `released`.
struct Release {
  std::uint32_t generation = 0;
  WallTime released;
  WallTime valid_until = kNeverEnds;
};
/// It has a booking: write the timer entry.
struct Book {
  std::uint32_t generation = 0;
  WallTime slot;
  std::size_t deciding_limit = 0;
};
/// To the dead letters.
struct ToDeadLetters {
  std::string_view reason;
  WallTime slot;  // that it would have had
};
/// Somebody else has taken it further: ack.
struct Drop {};
using Plan = std::variant<Release, Book, ToDeadLetters, Drop>;

[[nodiscard]] Plan plan_reserve(const core::ReserveAnswer& answer);
[[nodiscard]] Plan plan_gate(const core::GateAnswer& answer, std::uint32_t ticket_generation);

/// The sink has it.
struct Confirmed {};
/// Not sent, its window has passed: book again.
struct BookAgain {};
/// Deliver again after `wait`.
struct Retry {
  Duration wait{};
};
/// 429: leave the key alone for `wait`, then deliver again; no failed attempt.
struct Defer {
  Duration wait{};
  bool refused = true;  // by the sink: the waits of an event and its key grow; false: it was never asked
};
using SinkPlan = std::variant<Confirmed, BookAgain, Retry, Defer, ToDeadLetters>;

/// `key_deferrals`: consecutive 429s of the key before this one.
[[nodiscard]] SinkPlan plan_sink(const broker::SinkAnswer& answer, const Event& event, int key_deferrals);

}  // namespace dripgate::drip
