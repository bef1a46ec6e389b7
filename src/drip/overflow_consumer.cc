#include "drip/overflow_consumer.h"

#include <utility>

namespace dripgate::drip {

void OverflowConsumer::take(broker::Delivery delivery) {
  if (wiring_.pulling.turned_away()) return wiring_.ports.overflow_source.lapse(delivery.token);
  const core::StreamPtr stream = wiring_.current();
  if (delivery.redeliveries > 0) wiring_.observer.on_redelivery(*stream);
  const Carrier carrier{Carrier::Kind::overflow, delivery.token};
  auto opened = read_ticket(delivery.message, stream, wiring_.json);
  if (opened && opened->kind != TicketKind::overflow) {
    opened = fail(ErrorCode::corrupt, "a timer entry in the overflow topic");
  }
  if (!opened)
    return endings_.dead_letter_poison(carrier, std::move(delivery.message), opened.error().detail);
  const EventPtr event = opened->event;
  event->carrier = carrier;
  wiring_.acks.take(*event);
  deliveries_.deliver(event, kNeverEnds);
}

}  // namespace dripgate::drip
