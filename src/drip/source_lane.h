// SourceLane: what comes from the stream's source: intake -> reserve -> follow. On the executor.
#pragma once

#include "broker/event_source.h"
#include "drip/endings.h"
#include "drip/intake.h"
#include "drip/reservations.h"
#include "drip/wiring.h"

namespace dripgate::drip {

class SourceLane {
 public:
  SourceLane(Wiring& wiring, Endings& endings, Reservations& reservations)
      : wiring_(wiring), endings_(endings), reservations_(reservations) {}

  void take(broker::Delivery delivery);

 private:
  Wiring& wiring_;
  Endings& endings_;
  Reservations& reservations_;
  Intake intake_;
};

}  // namespace dripgate::drip
