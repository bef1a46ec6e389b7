#include "drip/reservations.h"

#include <string>
#include <utility>

#include "base/rfc3339.h"
#include "drip/intake.h"
#include "drip/reasons.h"

namespace dripgate::drip {

void Reservations::reserve(const EventPtr& event, std::optional<std::uint32_t> after_generation) {
  auto call = [this, event, after_generation](Done<core::ReserveAnswer> done) {
    wiring_.ports.store.reserve({.key = event->key,
                                 .event_id = event->id,
                                 .body_digest = event->digest,
                                 .cost = event->cost,
                                 .first_received = event->first_received,
                                 .after_generation = after_generation,
                                 .policy = wiring_.current()->booking},
                                std::move(done));
  };
  auto answered = guard_.wrap([this, event, after_generation](Result<core::ReserveAnswer> answer) {
    if (!answer) return endings_.give_up(event, answer.error(), reasons::kStoreRefused);
    if (!event->first_received) event->first_received = answer->first_received;
    const Plan plan = plan_reserve(*answer);
    // Nothing was booked: a replay must not start over what somebody published again under this id since.
    if (!after_generation && std::holds_alternative<ToDeadLetters>(plan)) event->generation = kNoGeneration;
    follow(event, plan);
  });
  wiring_.calls.run<core::ReserveAnswer>(PortName::store, event->stream, std::move(call),
                                         std::move(answered));
}

void Reservations::follow(const EventPtr& event, const Plan& plan) {
  if (const auto* release = std::get_if<Release>(&plan)) return released(event, *release);
  if (const auto* booking = std::get_if<Book>(&plan)) {
    event->generation = booking->generation;
    event->slot = booking->slot;
    if (event->carrier.kind == Carrier::Kind::timer) {
      wiring_.observer.on_rebook(*event->stream, event->key, booking->slot);
    }
    return endings_.book(event, booking->deciding_limit);
  }
  if (const auto* verdict = std::get_if<ToDeadLetters>(&plan)) return dead_letter(event, *verdict);
  tell(wiring_, event, EventVerdict::Kind::duplicate);
  wiring_.acks.ack(event);
}

void Reservations::released(const EventPtr& event, const Release& release) {
  event->generation = release.generation;
  event->slot = release.released;
  event->released = release.released;
  wiring_.observer.on_release(*event->stream, event->key, event->id, event->released, Duration{0});
  tell(wiring_, event, EventVerdict::Kind::now);
  if (event->carrier.kind == Carrier::Kind::source) return deliver_(event, release.valid_until);
  endings_.publish(event, /*charged=*/true);
}

void Reservations::dead_letter(const EventPtr& event, const ToDeadLetters& verdict) {
  if (verdict.reason == reasons::kBeyondHorizon) return dead_letter_beyond(event, verdict.slot);
  if (verdict.reason == reasons::kIdConflict) {
    return endings_.dead_letter(event, verdict.reason,
                                "the id '" + event->id + "' was used before with other bytes");
  }
  endings_.dead_letter(event, verdict.reason,
                       "its cost of " + std::to_string(event->cost) + " is above what a limit of key '" +
                           event->key + "' can ever hold");
}

void Reservations::dead_letter_beyond(const EventPtr& event, WallTime slot) {
  auto call = [this, event](Done<core::KeyView> done) {
    wiring_.ports.store.inspect(event->key, event->stream->booking, std::move(done));
  };
  auto seen = guard_.wrap([this, event, slot](Result<core::KeyView> view) {
    if (!view) return wiring_.acks.lapse(event);
    const WallTime first = event->first_received.value_or(view->now);
    const WallTime latest = first + event->stream->booking->max_delay;
    const bool frozen = view->frozen_until && *view->frozen_until > latest;
    endings_.dead_letter(event, frozen ? reasons::kFrozenPastHorizon : reasons::kBeyondHorizon,
                         (frozen ? "its key is frozen until " + format_rfc3339(*view->frozen_until)
                                 : "its slot would have been " + format_rfc3339(slot)) +
                             ", the latest accepted is " + format_rfc3339(latest));
  });
  wiring_.calls.run<core::KeyView>(PortName::store, event->stream, std::move(call), std::move(seen));
}

}  // namespace dripgate::drip
