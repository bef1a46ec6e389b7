// Words of the drip: what may be asked of a key's bookings and what it answers. Semantics: semantics.md
// section 6, booking.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "core/limit.h"

namespace dripgate::core {

enum class Spread : std::uint8_t { even, start };

/// What a stream promises for each of its keys. Immutable; a reload makes a new one.
struct BookingPolicy {
  std::vector<Limit> limits;  // at most kLimitsPerPolicyMax; all share the key
  Spread spread = Spread::even;
  Duration max_delay = std::chrono::hours{24};     // horizon: slot - first_received <= max_delay is accepted
  Duration id_retention = std::chrono::hours{24};  // an event id is remembered until max(slot, now) + this
};
using BookingPolicyPtr = std::shared_ptr<const BookingPolicy>;

/// BOOKED -> RELEASED -> DONE; given_back and dead_letter end without a delivery.
enum class EventState : std::uint8_t { booked, released, done, given_back, dead_letter };

/// What the drip remembers of one event id. Backends persist it as it is.
struct EventRecord {
  EventState state = EventState::booked;
  std::uint32_t generation = 0;  // counts bookings of this id, never restarts
  WallTime slot;                 // booked: the slot; released, done: the moment of release
  Units cost = 1;
  WallTime first_received;
  std::uint64_t body_digest = 0;  // of the original bytes: the same id with another body is a conflict
  // How the booking stands in the key's state (booking.md section 2).
  std::uint32_t epoch = 0;
  std::uint32_t leak = 0;
  bool via_repair = false;  // booked in the repair cursor, not at the tail
  std::uint8_t repairs = 0;
  // Released: timer entries that fired within the release lease and were given a new generation; the one that
  // was released may still settle.
  std::uint8_t lease_waits = 0;

  friend bool operator==(const EventRecord&, const EventRecord&) = default;
};

enum class ReserveOutcome : std::uint8_t { now, at, beyond_horizon, impossible, duplicate, conflict };
enum class GateOutcome : std::uint8_t { go, rebook, beyond_horizon, impossible, duplicate };

struct ReserveAnswer {
  ReserveOutcome outcome = ReserveOutcome::now;
  WallTime now;   // the store's clock, clamped
  WallTime slot;  // now: the moment of release; at: the slot; beyond_horizon: the slot it would have had
  std::uint32_t generation = 0;
  WallTime first_received;
  std::size_t deciding_limit = 0;  // the limit that decided the slot (or refused the cost)
  WallTime valid_until;            // now: hand it to the sink before this instant, else reserve again
};

struct GateAnswer {
  GateOutcome outcome = GateOutcome::go;
  WallTime now;
  WallTime
      slot;  // go: the moment of release; rebook: the new slot; beyond_horizon: the slot it would have had
  std::uint32_t generation = 0;  // rebook: of the new timer entry
  WallTime first_received;
  std::size_t deciding_limit = 0;
};

/// State of one key for a person: `dripgate inspect`.
struct KeyView {
  WallTime now;
  std::optional<WallTime> frozen_until;
  Units pending = 0;                  // booked and not yet released
  std::optional<WallTime> last_slot;  // tail: the latest booking
  WallTime next_slot;                 // where a new event of cost 1 would go (== now: at once)
  std::vector<Units> released;        // per limit: units released in the window that holds now
};

}  // namespace dripgate::core
