#include "drip/wiring.h"

#include <utility>

#include "drip/intake.h"

namespace dripgate::drip {
namespace {

template <class T>
Done<T> without_value(Done<void> done) {
  return [done = std::move(done)](Result<T> answer) mutable {
    done(answer ? Result<void>{} : std::unexpected(answer.error()));
  };
}

}  // namespace

void Wiring::probe(PortName port, Done<void> done) {
  const core::StreamPtr stream = current();
  switch (port) {
    case PortName::store:
      return ports.store.inspect(default_key(*stream), stream->booking,
                                 without_value<core::KeyView>(std::move(done)));
    case PortName::timer:
      return ports.timer.stats(without_value<broker::TimerStats>(std::move(done)));
    case PortName::dead_letters:
      return ports.dead_letters.list(0, 1, without_value<broker::DeadLetterPage>(std::move(done)));
    case PortName::overflow:
      break;  // a topic can only be asked by publishing: the next event asks
  }
  done({});
}

void tell(Wiring& wiring, const EventPtr& event, EventVerdict::Kind kind, std::string_view reason) {
  if (event->carrier.kind != Carrier::Kind::source || std::exchange(event->told, true)) return;
  EventVerdict verdict{.kind = kind,
                       .message_id = event->original.id,
                       .event_id = event->id,
                       .key = std::string(rendered_key(*event)),
                       .slot = {},
                       .reason = std::string(reason)};
  if (kind == EventVerdict::Kind::now || kind == EventVerdict::Kind::scheduled) verdict.slot = event->slot;
  wiring.observer.on_verdict(*event->stream, verdict);
}

}  // namespace dripgate::drip
