// Booking and gate: where the drip puts events that are over the limit, and the second check at dispatch
// time. Pure functions on one key's state and one event's record; a backend loads both, calls, and stores
// both atomically. The algorithm, its invariants and counter-examples: docs/booking.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/booking_state.h"
#include "core/booking_types.h"

namespace dripgate::core {

struct ReserveInput {
  Units cost = 1;
  std::uint64_t body_digest = 0;
  std::optional<WallTime> first_received = {};
  std::optional<std::uint32_t> after_generation = {};
};

/// Books or releases one event. `record` is what is known of the event id (empty: nothing) and is updated
/// when the outcome is now or at. `now` may step back: it is clamped to state.last_seen by up to
/// kClockClampMax. Error: clock_stepped_back, and nothing changed.
[[nodiscard]] Result<ReserveAnswer> reserve(KeyState& state, std::optional<EventRecord>& record,
                                            const BookingPolicy& policy, const ReserveInput& input,
                                            WallTime now);

struct GateInput {
  std::uint32_t generation = 0;
  // The ticket's own account, taken as the reservation when `record` is empty (the store was emptied).
  WallTime slot;
  Units cost = 1;
  WallTime first_received;
  std::uint64_t body_digest = 0;
};

/// The second check: actual time counts, not the plan.
[[nodiscard]] Result<GateAnswer> gate(KeyState& state, std::optional<EventRecord>& record,
                                      const BookingPolicy& policy, const GateInput& input, WallTime now);

/// RELEASED -> DONE. False: another generation or state, nothing changed.
bool settle(EventRecord& record, std::uint32_t generation);
/// BOOKED -> given back. False: nothing changed.
bool release(KeyState& state, EventRecord& record, const BookingPolicy& policy, std::uint32_t generation,
             WallTime now);

void freeze(KeyState& state, WallTime until);
void thaw(KeyState& state);
[[nodiscard]] KeyView inspect(const KeyState& state, const BookingPolicy& policy, WallTime now);

/// Until when the record and the key's state must be remembered.
[[nodiscard]] WallTime record_expiry(const EventRecord& record, const BookingPolicy& policy, WallTime now);
[[nodiscard]] WallTime state_expiry(const KeyState& state, const BookingPolicy& policy, WallTime now);

/// Bytes for a backend's column; the first byte is the format's version. Errors of decode: corrupt,
/// newer_version.
[[nodiscard]] std::string encode(const KeyState& state);
[[nodiscard]] Result<KeyState> decode_state(std::string_view bytes);
[[nodiscard]] std::string encode(const EventRecord& record);
[[nodiscard]] Result<EventRecord> decode_record(std::string_view bytes);

}  // namespace dripgate::core
