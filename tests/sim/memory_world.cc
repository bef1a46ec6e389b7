#include "broker/cloud_tasks/tasks_timer.h"
#include "sim/world.h"
#include "store/memory/stores.h"
#include "support/fake_broker.h"
#include "support/fake_claims.h"
#include "support/sim_tasks.h"

namespace dripgate::sim {
namespace {

/// Its headers, and not the enriched payload of any event here.
constexpr std::size_t kNoRoomForABody = 1'400;

class MemoryWorld final : public World {
 public:
  MemoryWorld(testing::VirtualClock& clock, testing::SimExecutor& executor, Timers timers)
      : clock_(clock),
        executor_(executor),
        timers_(timers),
        broker_(executor, clock),
        tasks_(executor, clock),
        store_(store::make_memory_booking_store(clock)),
        producer_(broker_.publisher(kSourceTopic)) {}

  Ports open(broker::Sink& sink) override {
    source_ = broker_.source(kSourceTopic);
    overflow_ = broker_.publisher("s-overflow");
    overflow_source_ = broker_.source("s-overflow");
    open_timer();
    letters_ = broker_.dead_letters("s-dead");
    return {*store_, *source_, *overflow_, *overflow_source_, *timer_, *letters_, sink};
  }
  void close() override {
    tasks_.connect(nullptr);
    source_.reset();
    overflow_.reset();
    overflow_source_.reset();
    timer_.reset();
    letters_.reset();
  }
  Result<void> produce(broker::Message message) override {
    producer_->publish(std::move(message), [](Result<void>) {});
    return {};
  }
  Result<bool> after_task(Dice&, bool) override { return true; }
  Result<bool> make_durable() override { return true; }
  std::size_t waiting() override {
    return broker_.topic(kSourceTopic).messages.size() + broker_.topic("s-overflow").messages.size() +
           broker_.timers("s").entries.size() + tasks_.tasks.size();
  }

 private:
  void open_timer() {
    if (timers_ == Timers::broker) {
      timer_ = broker_.timer("s");
      return;
    }
    const bool claimed = timers_ == Timers::cloud_tasks_with_claims;
    std::unique_ptr<broker::Claims> claims;
    if (claimed) claims = std::make_unique<testing::FakeClaims>(shelf_, executor_, clock_);
    auto timer = std::make_unique<broker::cloud_tasks::TasksTimer>(
        broker::cloud_tasks::Options{.project = "sim",
                                     .location = "sim",
                                     .queues = {"q0", "q1"},
                                     .target = "http://dispatcher/v1/dispatch/s",
                                     .service_account = "tasks@sim",
                                     .audience = "http://dispatcher",
                                     .task_bytes_max = claimed ? kNoRoomForABody : kTaskBytesDefault},
        tasks_, executor_, clock_, std::move(claims));
    tasks_.connect(timer.get());
    timer_ = std::move(timer);
  }

  testing::VirtualClock& clock_;
  testing::SimExecutor& executor_;
  const Timers timers_;
  testing::FakeBroker broker_;
  testing::SimTasks tasks_;
  testing::ClaimShelf shelf_;
  std::unique_ptr<store::BookingStore> store_;
  std::unique_ptr<broker::Publisher> producer_;
  std::unique_ptr<broker::EventSource> source_;
  std::unique_ptr<broker::Publisher> overflow_;
  std::unique_ptr<broker::EventSource> overflow_source_;
  std::unique_ptr<broker::Timer> timer_;
  std::unique_ptr<broker::DeadLetters> letters_;
};

}  // namespace

std::unique_ptr<World> make_memory_world(testing::VirtualClock& clock, testing::SimExecutor& executor,
                                         Timers timers) {
  return std::make_unique<MemoryWorld>(clock, executor, timers);
}

}  // namespace dripgate::sim
