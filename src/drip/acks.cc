#include "drip/acks.h"

#include <utility>

namespace dripgate::drip {

bool Acks::settle(const EventPtr& event) {
  return !std::exchange(event->settled, true);
}

void Acks::gone() {
  --outstanding_;
  if (outstanding_ == 0 && idle_) std::exchange(idle_, nullptr)();
}

void Acks::ack(const EventPtr& event) {
  if (!settle(event)) return;
  // An ack that fails brings the event again: its record says how far it came.
  Done<void> done = guard_.wrap([this, event](Result<void> acked) {
    if (!acked) {
      observer_.on_port_error(*event->stream, "ack", acked.error());
      return_to_port(event->carrier);
    }
    gone();
  });
  const std::uint64_t token = event->carrier.token;
  switch (event->carrier.kind) {
    case Carrier::Kind::source:
      return ports_.source.ack(token, std::move(done));
    case Carrier::Kind::overflow:
      return ports_.overflow_source.ack(token, std::move(done));
    case Carrier::Kind::timer:
      return ports_.timer.settle(token, std::move(done));
    case Carrier::Kind::dead_letter:
      break;
  }
  ports_.dead_letters.remove(token, [done = std::move(done)](Result<bool> removed) mutable {
    done(removed ? Result<void>{} : std::unexpected(removed.error()));
  });
}

void Acks::lapse(const EventPtr& event) {
  if (!settle(event)) return;
  return_to_port(event->carrier);
  gone();
}

void Acks::return_to_port(const Carrier& carrier) {
  switch (carrier.kind) {
    case Carrier::Kind::source:
      return ports_.source.lapse(carrier.token);
    case Carrier::Kind::overflow:
      return ports_.overflow_source.lapse(carrier.token);
    case Carrier::Kind::timer:
      return ports_.timer.lapse(carrier.token);
    case Carrier::Kind::dead_letter:
      return;  // the letter stays
  }
}

void Acks::when_idle(Task idle) {
  if (outstanding_ == 0) return idle();
  idle_ = std::move(idle);
}

}  // namespace dripgate::drip
