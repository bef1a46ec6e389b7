#include "drip/source_lane.h"

#include <utility>

namespace dripgate::drip {

void SourceLane::take(broker::Delivery delivery) {
  if (wiring_.pulling.turned_away()) return wiring_.ports.source.lapse(delivery.token);
  const core::StreamPtr stream = wiring_.current();
  if (delivery.redeliveries > 0) wiring_.observer.on_redelivery(*stream);
  Admission admission = intake_.admit(stream, std::move(delivery.message));
  const EventPtr& event = admission.event;
  event->carrier = {Carrier::Kind::source, delivery.token};
  wiring_.acks.take(*event);
  if (admission.default_key) wiring_.observer.on_missing_key(*stream);
  if (!admission.reason.empty())
    return endings_.dead_letter(event, admission.reason, std::move(admission.detail));
  reservations_.reserve(event, std::nullopt);
}

}  // namespace dripgate::drip
