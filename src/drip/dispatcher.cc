#include "drip/dispatcher.h"

#include <algorithm>
#include <utility>

#include "base/rfc3339.h"
#include "drip/reasons.h"

namespace dripgate::drip {

void Dispatcher::fire(broker::FiredEntry fired) {
  if (wiring_.pulling.turned_away()) return wiring_.ports.timer.lapse(fired.token);
  const Carrier carrier{Carrier::Kind::timer, fired.token};
  auto opened = read_ticket(fired.entry.message, wiring_.current(), wiring_.json);
  if (opened && opened->kind == TicketKind::overflow) {
    opened = fail(ErrorCode::corrupt, "an overflow message in the timer");
  }
  if (!opened) {
    fired.entry.message.id = fired.entry.id;
    return endings_.dead_letter_poison(carrier, std::move(fired.entry.message), opened.error().detail);
  }
  const EventPtr event = opened->event;
  event->carrier = carrier;
  wiring_.acks.take(*event);
  opened->kind == TicketKind::retry ? retry(event) : ask_gate(event);
}

void Dispatcher::ask_gate(const EventPtr& event) {
  auto call = [this, event](Done<core::GateAnswer> done) {
    // The limits in force at this moment, also for a repeated call.
    wiring_.ports.store.gate({.ticket = store_ticket(*event), .policy = wiring_.current()->booking},
                             std::move(done));
  };
  auto answer = guard_.wrap([this, event](Result<core::GateAnswer> gate) {
    if (!gate) return endings_.give_up(event, gate.error(), reasons::kStoreRefused);
    answered(event, *gate);
  });
  wiring_.calls.run<core::GateAnswer>(PortName::store, event->stream, std::move(call), std::move(answer));
}

void Dispatcher::answered(const EventPtr& event, const core::GateAnswer& answer) {
  if (!event->lost.empty()) return without_bytes(event, answer);
  if (answer.outcome == core::GateOutcome::duplicate && answer.generation > event->generation) {
    // An older generation: either its rebooking is under way, or the answer that told of it was lost. The
    // entry of the newer one is written again under its own id, which changes nothing if it is there.
    event->generation = answer.generation;
    event->slot = answer.slot;
    return endings_.book(event, answer.deciding_limit);
  }
  const Plan plan = plan_gate(answer, event->generation);
  const auto* release = std::get_if<Release>(&plan);
  if (release == nullptr) return reservations_.follow(event, plan);
  event->released = release->released;
  const Duration late = std::max(event->released - event->slot, Duration{0});
  wiring_.observer.on_release(*event->stream, event->key, event->id, event->released, late);
  endings_.publish(event, /*charged=*/true);
}

void Dispatcher::without_bytes(const EventPtr& event, const core::GateAnswer& answer) {
  const bool duplicate = answer.outcome == core::GateOutcome::duplicate;
  // Nothing is missing where the event is through: a task that came once more.
  if (duplicate && answer.generation <= event->generation) return wiring_.acks.ack(event);
  if (answer.outcome == core::GateOutcome::rebook) {
    event->generation = answer.generation;
    event->give_back = true;
  }
  endings_.dead_letter(event, reasons::kClaimLost, event->lost);
}

void Dispatcher::retry(const EventPtr& event) {
  if (!event->lost.empty()) return endings_.dead_letter(event, reasons::kClaimLost, event->lost);
  if (event->stream->retries_cost) return reservations_.reserve(event, event->generation);
  retry_free(event);
}

void Dispatcher::retry_free(const EventPtr& event) {
  auto call = [this, event](Done<core::KeyView> done) {
    wiring_.ports.store.inspect(event->key, event->stream->booking, std::move(done));
  };
  auto seen = guard_.wrap([this, event](Result<core::KeyView> view) {
    if (!view) return endings_.give_up(event, view.error(), reasons::kStoreRefused);
    retry_unless_frozen(event, *view);
  });
  wiring_.calls.run<core::KeyView>(PortName::store, event->stream, std::move(call), std::move(seen));
}

void Dispatcher::retry_unless_frozen(const EventPtr& event, const core::KeyView& view) {
  const WallTime until = view.frozen_until.value_or(view.now);
  if (until <= view.now) return endings_.publish(event, /*charged=*/false);
  if (until - event->first_received.value_or(view.now) > event->stream->booking->max_delay) {
    return endings_.dead_letter(event, reasons::kFrozenPastHorizon,
                                "its key is frozen until " + format_rfc3339(until));
  }
  ++event->deferrals;
  endings_.retry_at(event, until);
}

}  // namespace dripgate::drip
