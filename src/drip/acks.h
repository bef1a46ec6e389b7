// Acks: the only place that acks. A carrier is acked once, after the durable yes of what follows, or
// lapses so that it comes again; it also counts what is in our hands. On the executor.
#pragma once

#include <cstdint>

#include "base/guard.h"
#include "drip/event.h"
#include "drip/pipeline.h"

namespace dripgate::drip {

class Acks {
 public:
  Acks(Ports& ports, Observer& observer) : ports_(ports), observer_(observer) {}

  /// The carrier has brought this event.
  void take(const Event&) { ++outstanding_; }
  /// What follows is durable.
  void ack(const EventPtr& event);
  /// Nothing that follows is durable: the carrier brings it again later.
  void lapse(const EventPtr& event);

  [[nodiscard]] std::uint64_t outstanding() const { return outstanding_; }
  /// Runs `idle` once nothing is in our hands (at once when nothing is).
  void when_idle(Task idle);

 private:
  bool settle(const EventPtr& event);
  void return_to_port(const Carrier& carrier);
  void gone();

  Ports& ports_;
  Observer& observer_;
  std::uint64_t outstanding_ = 0;
  Task idle_;
  Guard guard_;
};

}  // namespace dripgate::drip
