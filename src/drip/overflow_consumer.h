// OverflowConsumer: what was released comes back from the overflow topic and goes to the sink, original
// bytes, without a second charge. On the executor.
#pragma once

#include "broker/event_source.h"
#include "drip/deliveries.h"
#include "drip/endings.h"
#include "drip/wiring.h"

namespace dripgate::drip {

class OverflowConsumer {
 public:
  OverflowConsumer(Wiring& wiring, Endings& endings, Deliveries& deliveries)
      : wiring_(wiring), endings_(endings), deliveries_(deliveries) {}

  void take(broker::Delivery delivery);

 private:
  Wiring& wiring_;
  Endings& endings_;
  Deliveries& deliveries_;
};

}  // namespace dripgate::drip
