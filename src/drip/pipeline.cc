#include "drip/pipeline.h"

#include <utility>

#include "drip/deliveries.h"
#include "drip/dispatcher.h"
#include "drip/endings.h"
#include "drip/overflow_consumer.h"
#include "drip/replay.h"
#include "drip/reservations.h"
#include "drip/source_lane.h"
#include "drip/wiring.h"

namespace dripgate::drip {

struct Pipeline::Impl {
  Impl(std::function<core::StreamPtr()> current, Ports ports, Observer& observer)
      : wiring(std::move(current), ports, observer),
        endings(wiring),
        deliveries(wiring, endings),
        reservations(
            wiring, endings,
            [this](const EventPtr& event, WallTime valid_until) { deliveries.deliver(event, valid_until); }),
        source_lane(wiring, endings, reservations),
        dispatcher(wiring, endings, reservations),
        overflow_consumer(wiring, endings, deliveries),
        replay(wiring, reservations) {
    deliveries.set_reservations(reservations);
  }

  void start(Roles roles);
  void status(Done<PipelineStatus> done);
  void add_letters(PipelineStatus status, Done<PipelineStatus> done);
  void shutdown(Duration wait, Done<void> done);

  Wiring wiring;
  Endings endings;
  Deliveries deliveries;
  Reservations reservations;
  SourceLane source_lane;
  Dispatcher dispatcher;
  OverflowConsumer overflow_consumer;
  Replay replay;
  Guard guard;
};

void Pipeline::Impl::start(Roles roles) {
  Ports& ports = wiring.ports;
  if (roles.intake) {
    ports.source.start(
        ports.flow, guard.wrap([this](broker::Delivery delivery) { source_lane.take(std::move(delivery)); }));
  }
  if (roles.consume) {
    ports.overflow_source.start(ports.flow, guard.wrap([this](broker::Delivery delivery) {
      overflow_consumer.take(std::move(delivery));
    }));
  }
  if (roles.dispatch) {
    ports.timer.start(guard.wrap([this](broker::FiredEntry fired) { dispatcher.fire(std::move(fired)); }));
  }
  wiring.pulling.started(roles);
}

void Pipeline::Impl::status(Done<PipelineStatus> done) {
  wiring.ports.timer.stats(
      guard.wrap([this, done = std::move(done)](Result<broker::TimerStats> stats) mutable {
        if (!stats) return done(std::unexpected(stats.error()));
        add_letters({.paused = wiring.pulling.paused(),
                     .outstanding = wiring.acks.outstanding(),
                     .backlog = stats->pending,
                     .oldest_slot = stats->oldest_due,
                     .eta = stats->latest_due,
                     .dead_letters = 0,
                     .last_error = wiring.brake.last_error()},
                    std::move(done));
      }));
}

void Pipeline::Impl::add_letters(PipelineStatus status, Done<PipelineStatus> done) {
  wiring.ports.dead_letters.list(0, 0,
                                 guard.wrap([status = std::move(status), done = std::move(done)](
                                                Result<broker::DeadLetterPage> page) mutable {
                                   if (page) {
                                     status.dead_letters = page->total;
                                   } else if (!status.last_error) {
                                     status.last_error = page.error();
                                   }
                                   done(std::move(status));
                                 }));
}

void Pipeline::Impl::shutdown(Duration wait, Done<void> done) {
  wiring.pulling.stop();
  // Whichever comes first answers; what is still out then lapses with the leases.
  auto answer = std::make_shared<Done<void>>(std::move(done));
  auto finish = [answer] {
    if (*answer) std::exchange(*answer, nullptr)({});
  };
  wiring.acks.when_idle(guard.wrap(finish));
  wiring.ports.executor.post_after(wait, guard.wrap(finish));
}

Pipeline::Pipeline(std::function<core::StreamPtr()> current, Ports ports, Observer& observer)
    : impl_(std::make_unique<Impl>(std::move(current), ports, observer)) {}
Pipeline::~Pipeline() = default;

void Pipeline::start(Roles roles) {
  impl_->start(roles);
}
void Pipeline::pause() {
  impl_->wiring.pulling.pause(true);
}
void Pipeline::resume() {
  impl_->wiring.pulling.pause(false);
}
void Pipeline::shutdown(Duration wait, Done<void> done) {
  impl_->shutdown(wait, std::move(done));
}
void Pipeline::status(Done<PipelineStatus> done) {
  impl_->status(std::move(done));
}
void Pipeline::replay(ReplayRequest request, Done<std::uint64_t> done) {
  impl_->replay.start(request, std::move(done));
}

}  // namespace dripgate::drip
