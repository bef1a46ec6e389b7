#include "drip/endings.h"

#include <utility>

#include "drip/intake.h"
#include "drip/names.h"
#include "drip/reasons.h"

namespace dripgate::drip {

void Endings::book(const EventPtr& event, std::size_t deciding_limit) {
  broker::TimerEntry entry{.id = gate_entry_id(*event),
                           .due = event->slot,
                           .message = write_ticket(*event, TicketKind::gate, deciding_limit, wiring_.json)};
  schedule(event, std::move(entry), TicketKind::gate);
}

void Endings::retry_at(const EventPtr& event, WallTime due) {
  broker::TimerEntry entry{.id = retry_entry_id(*event),
                           .due = due,
                           .message = write_ticket(*event, TicketKind::retry, 0, wiring_.json)};
  schedule(event, std::move(entry), TicketKind::retry);
}

void Endings::schedule(const EventPtr& event, broker::TimerEntry entry, TicketKind kind) {
  auto call = [this, entry = std::move(entry)](Done<void> done) {
    wiring_.ports.timer.schedule(entry, std::move(done));
  };
  auto persisted = guard_.wrap([this, event, kind](Result<void> answer) {
    if (answer) {
      tell(wiring_, event, EventVerdict::Kind::scheduled);
      return wiring_.acks.ack(event);
    }
    timer_refused(event, kind, answer.error());
  });
  wiring_.calls.run<void>(PortName::timer, event->stream, std::move(call), std::move(persisted));
}

void Endings::timer_refused(const EventPtr& event, TicketKind kind, const Error& error) {
  if (!refused_for_good(error)) return wiring_.acks.lapse(event);
  event->give_back = kind == TicketKind::gate;
  const bool large = error.code == ErrorCode::too_large;
  dead_letter(event, large ? reasons::kTooLarge : reasons::kTimerRefused, error.detail);
}

void Endings::publish(const EventPtr& event, bool charged) {
  broker::Message message = write_ticket(*event, TicketKind::overflow, 0, wiring_.json);
  message.id = overflow_message_id(*event);
  auto call = [this, message = std::move(message)](Done<void> done) {
    wiring_.ports.overflow.publish(message, std::move(done));
  };
  auto published = guard_.wrap([this, event, charged](Result<void> answer) {
    if (!answer) return give_up(event, answer.error(), reasons::kOverflowRefused);
    charged ? settle(event) : wiring_.acks.ack(event);
  });
  wiring_.calls.run<void>(PortName::overflow, event->stream, std::move(call), std::move(published));
}

void Endings::settle(const EventPtr& event) {
  auto call = [this, event](Done<void> done) {
    wiring_.ports.store.done(event->key, event->id, event->generation, std::move(done));
  };
  auto settled = guard_.wrap(
      [this, event](Result<void> answer) { answer ? wiring_.acks.ack(event) : wiring_.acks.lapse(event); });
  wiring_.calls.run<void>(PortName::store, event->stream, std::move(call), std::move(settled));
}

void Endings::give_up(const EventPtr& event, const Error& error, std::string_view refusal) {
  if (refused_for_good(error)) return dead_letter(event, refusal, error.detail);
  wiring_.acks.lapse(event);
}

void Endings::dead_letter(const EventPtr& event, std::string_view reason, std::string detail) {
  // A letter that is replayed and fails again stays what it was.
  if (event->carrier.kind == Carrier::Kind::dead_letter) return wiring_.acks.lapse(event);
  const WallTime now = wiring_.ports.clock.now();
  add_letter(event, {.sequence = 0,
                     .event_id = reason == reasons::kIdConflict ? conflict_id(*event) : event->id,
                     .key = std::string(rendered_key(*event)),
                     .reason = std::string(reason),
                     .detail = std::move(detail),
                     .message = event->original,
                     .first_received = event->first_received.value_or(now),
                     .dead_at = now,
                     .attempts = event->attempts,
                     .generation = event->generation});
}

void Endings::dead_letter_poison(Carrier carrier, broker::Message message, std::string detail) {
  auto event = std::make_shared<Event>();
  event->stream = wiring_.current();
  event->carrier = carrier;
  event->id = message.id;  // the broker's: what the message says of itself is not believed
  event->generation = kNoGeneration;
  event->original = std::move(message);
  wiring_.acks.take(*event);
  dead_letter(event, reasons::kPoison, std::move(detail));
}

void Endings::add_letter(const EventPtr& event, broker::DeadLetter letter) {
  auto call = [this, letter](Done<void> done) { wiring_.ports.dead_letters.add(letter, std::move(done)); };
  auto added = guard_.wrap([this, event, reason = letter.reason](Result<void> answer) {
    if (!answer) {
      // Refused for good or not: without a letter it stays where it is, and the operator must see it.
      wiring_.brake.failed(PortName::dead_letters, answer.error());
      return wiring_.acks.lapse(event);
    }
    wiring_.observer.on_dead_letter(*event->stream, event->id, reason);
    tell(wiring_, event,
         reason == reasons::kIdConflict ? EventVerdict::Kind::conflict : EventVerdict::Kind::dead_letter,
         reason);
    event->give_back ? give_back(event) : wiring_.acks.ack(event);
  });
  wiring_.calls.run<void>(PortName::dead_letters, event->stream, std::move(call), std::move(added));
}

void Endings::give_back(const EventPtr& event) {
  auto call = [this, event](Done<void> done) {
    wiring_.ports.store.release(event->key, event->id, event->generation, event->stream->booking,
                                std::move(done));
  };
  auto released = guard_.wrap(
      [this, event](Result<void> answer) { answer ? wiring_.acks.ack(event) : wiring_.acks.lapse(event); });
  wiring_.calls.run<void>(PortName::store, event->stream, std::move(call), std::move(released));
}

}  // namespace dripgate::drip
