// PlanRule: how far promises stay below what the gate allows, and the port's calls with a rule of their own.
// The product always uses the default; tests compare with the reference, which plans what the gate allows.
#pragma once

#include "core/booking.h"

namespace dripgate::core {

struct PlanRule {
  int log_headroom_percent = 5;  // a sliding log plans its limit less this (rounded up), at least 1
  bool drain_bucket = true;      // a booking spills what is left in the planned bucket: no booked bursts
};

[[nodiscard]] Result<ReserveAnswer> reserve(KeyState& state, std::optional<EventRecord>& record,
                                            const BookingPolicy& policy, const ReserveInput& input,
                                            WallTime now, const PlanRule& rule);
[[nodiscard]] Result<GateAnswer> gate(KeyState& state, std::optional<EventRecord>& record,
                                      const BookingPolicy& policy, const GateInput& input, WallTime now,
                                      const PlanRule& rule);

}  // namespace dripgate::core
