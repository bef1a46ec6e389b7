// Reservations: asks the store for an event's slot and does what it answers. Three callers: source_lane
// (first time), dispatcher and deliveries (a further delivery, after a generation), replay. On the executor.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/guard.h"
#include "drip/endings.h"
#include "drip/planner.h"
#include "drip/wiring.h"

namespace dripgate::drip {

class Reservations {
 public:
  using Deliver = std::function<void(const EventPtr&, WallTime valid_until)>;

  /// `deliver` hands an event that came from the source to the sink.
  Reservations(Wiring& wiring, Endings& endings, Deliver deliver)
      : wiring_(wiring), endings_(endings), deliver_(std::move(deliver)) {}

  void reserve(const EventPtr& event, std::optional<std::uint32_t> after_generation);
  /// What the store decided at the gate.
  void follow(const EventPtr& event, const Plan& plan);

 private:
  void released(const EventPtr& event, const Release& release);
  void dead_letter(const EventPtr& event, const ToDeadLetters& verdict);
  /// Beyond the horizon: because of a freeze, or because of the backlog.
  void dead_letter_beyond(const EventPtr& event, WallTime slot);

  Wiring& wiring_;
  Endings& endings_;
  Deliver deliver_;
  Guard guard_;
};

}  // namespace dripgate::drip
