// Dispatcher: a timer entry has fired: the second check. gate -> GO: overflow topic; REBOOK: a new entry;
// BEYOND: dead letter; DUPLICATE: nothing. Entries of kind retry ask for a new booking instead. On the
// executor.
#pragma once

#include "base/guard.h"
#include "broker/timer.h"
#include "drip/endings.h"
#include "drip/reservations.h"
#include "drip/wiring.h"

namespace dripgate::drip {

class Dispatcher {
 public:
  Dispatcher(Wiring& wiring, Endings& endings, Reservations& reservations)
      : wiring_(wiring), endings_(endings), reservations_(reservations) {}

  void fire(broker::FiredEntry fired);

 private:
  void ask_gate(const EventPtr& event);
  void answered(const EventPtr& event, const core::GateAnswer& answer);
  /// Its bytes are gone: a dead letter, unless the store knows that it is through.
  void without_bytes(const EventPtr& event, const core::GateAnswer& answer);
  void retry(const EventPtr& event);
  /// `retryCost: 0`: no charge, but a frozen key stays frozen.
  void retry_free(const EventPtr& event);
  void retry_unless_frozen(const EventPtr& event, const core::KeyView& view);

  Wiring& wiring_;
  Endings& endings_;
  Reservations& reservations_;
  Guard guard_;
};

}  // namespace dripgate::drip
