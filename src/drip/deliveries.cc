#include "drip/deliveries.h"

#include <algorithm>
#include <utility>

#include "base/rfc3339.h"
#include "broker/attribute_names.h"
#include "drip/reasons.h"
#include "drip/reservations.h"

namespace dripgate::drip {
namespace {

broker::Message outgoing_message(const Event& event) {
  broker::Message message = event.original;
  message.id = event.id;
  const auto put = [&message](std::string_view name, std::string value) {
    message.attributes.emplace_back(name, std::move(value));
  };
  put(broker::kIdAttribute, event.id);
  put(broker::kStreamAttribute, event.stream->id);
  put(broker::kKeyAttribute, std::string(rendered_key(event)));
  put(broker::kAttemptAttribute, std::to_string(event.attempts + 1));
  put(broker::kSlotAttribute, format_rfc3339(event.slot, Fraction::milliseconds));
  put(broker::kReleasedAttribute, format_rfc3339(event.released, Fraction::milliseconds));
  put(broker::kHopsAttribute, std::to_string(event.hops + 1));
  return message;
}

}  // namespace

void Deliveries::deliver(const EventPtr& event, WallTime valid_until) {
  wiring_.ports.sink.deliver(
      {.message = outgoing_message(*event), .valid_until = valid_until},
      guard_.wrap([this, event](broker::SinkAnswer answer) { answered(event, answer); }));
}

void Deliveries::answered(const EventPtr& event, const broker::SinkAnswer& answer) {
  wiring_.observer.on_delivery(*event->stream, event->id, answer);
  const WallTime now = wiring_.ports.clock.now();
  const SinkPlan plan = plan_sink(answer, *event, key_deferrals(event->key, now));
  if (std::holds_alternative<Confirmed>(plan)) return confirmed(event);
  if (std::holds_alternative<BookAgain>(plan)) return book_again(event);
  if (const auto* again = std::get_if<Retry>(&plan)) return retry(event, *again);
  if (const auto* wait = std::get_if<Defer>(&plan)) return defer(event, *wait);
  dead_letter(event, std::get<ToDeadLetters>(plan), answer.detail);
}

void Deliveries::confirmed(const EventPtr& event) {
  streaks_.erase(event->key);
  // From the overflow topic it was DONE when the topic had it.
  event->carrier.kind == Carrier::Kind::source ? endings_.settle(event) : wiring_.acks.ack(event);
}

void Deliveries::book_again(const EventPtr& event) {
  if (event->carrier.kind != Carrier::Kind::source || ++event->expiries > kExpiriesMax) {
    return wiring_.acks.lapse(event);
  }
  reservations_->reserve(event, event->generation);
}

void Deliveries::retry(const EventPtr& event, const Retry& plan) {
  ++event->attempts;
  endings_.retry_at(event, wiring_.ports.clock.now() + plan.wait);
}

int Deliveries::key_deferrals(const std::string& key, WallTime now) const {
  const auto streak = streaks_.find(key);
  if (streak == streaks_.end()) return 0;
  return now >= streak->second.until ? streak->second.deferrals : streak->second.deferrals - 1;
}

void Deliveries::defer(const EventPtr& event, const Defer& plan) {
  const WallTime now = wiring_.ports.clock.now();
  const WallTime until = now + plan.wait;
  if (streaks_.size() >= kDeferredKeysMax) streaks_.clear();
  Streak& streak = streaks_[event->key];
  if (now >= streak.until && plan.refused) ++streak.deferrals;
  if (plan.refused) streak.until = std::max(streak.until, until);

  auto call = [this, event, until](Done<void> done) {
    wiring_.ports.store.freeze(event->key, until, std::move(done));
  };
  auto stopped = guard_.wrap([this, event, until, refused = plan.refused](Result<void> answer) {
    answer ? frozen(event, until, refused) : wiring_.acks.lapse(event);
  });
  wiring_.calls.run<void>(PortName::store, event->stream, std::move(call), std::move(stopped));
}

void Deliveries::frozen(const EventPtr& event, WallTime until, bool refused) {
  // Deferrals have no number of attempts: the horizon is what bounds them.
  const WallTime latest = event->first_received.value_or(until) + event->stream->booking->max_delay;
  if (until > latest) {
    return endings_.dead_letter(event, reasons::kFrozenPastHorizon,
                                "the sink asked to wait until " + format_rfc3339(until) +
                                    ", the latest accepted is " + format_rfc3339(latest));
  }
  if (refused) ++event->deferrals;
  endings_.retry_at(event, until);
}

void Deliveries::dead_letter(const EventPtr& event, const ToDeadLetters& plan, const std::string& detail) {
  ++event->attempts;
  endings_.dead_letter(event, plan.reason, "the sink answered: " + detail);
}

}  // namespace dripgate::drip
