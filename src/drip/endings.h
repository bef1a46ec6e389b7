// Endings: the durable yes that lets a carrier go. Three ways: a timer entry, an overflow message, a dead
// letter. Each acks the carrier when it is durable and lets it lapse when it cannot be made so. Ids are
// deterministic (names.h), so doing one again is doing it once. On the executor.
#pragma once

#include <string>
#include <string_view>

#include "base/guard.h"
#include "drip/ticket.h"
#include "drip/wiring.h"

namespace dripgate::drip {

class Endings {
 public:
  explicit Endings(Wiring& wiring) : wiring_(wiring) {}

  /// The booking event->generation at event->slot: a timer entry of kind gate.
  void book(const EventPtr& event, std::size_t deciding_limit);
  /// Another delivery at `due`: a timer entry of kind retry, which books nothing.
  void retry_at(const EventPtr& event, WallTime due);
  /// Released: to the overflow topic, then DONE in the store unless no release was charged for it.
  void publish(const EventPtr& event, bool charged);
  void dead_letter(const EventPtr& event, std::string_view reason, std::string detail);
  /// What a carrier brought is not ours to understand: the raw message becomes the letter.
  void dead_letter_poison(Carrier carrier, broker::Message message, std::string detail);
  /// RELEASED -> DONE, then ack: the topic or the sink has it.
  void settle(const EventPtr& event);
  /// The outcome of a call was an error: a request that is itself at fault is a dead letter, else it comes
  /// again.
  void give_up(const EventPtr& event, const Error& error, std::string_view refusal);

 private:
  void schedule(const EventPtr& event, broker::TimerEntry entry, TicketKind kind);
  void timer_refused(const EventPtr& event, TicketKind kind, const Error& error);
  /// BOOKED -> given back, then ack: the letter is durable.
  void give_back(const EventPtr& event);
  void add_letter(const EventPtr& event, broker::DeadLetter letter);

  Wiring& wiring_;
  Guard guard_;
};

}  // namespace dripgate::drip
