// The drip with its timer on Cloud Tasks, on virtual time: the scenarios that are about what that service
// does (S3, S4, S4b, S8b, S14, S15b, S16).
#include <set>

#include "broker/cloud_tasks/tasks_timer.h"
#include "sim/faulty_ports.h"
#include "support/sim_tasks.h"
#include "unit/drip/pipeline_fixture.h"

namespace dripgate::drip {
namespace {

using broker::cloud_tasks::kUnavailable;
using testing::SimTasks;
using Refusal = std::optional<broker::cloud_tasks::CallStatus>;

class CloudTasksScenario : public PipelineFixture {
 protected:
  ~CloudTasksScenario() override { down(); }

  std::unique_ptr<broker::Timer> make_timer() override {
    return std::make_unique<broker::cloud_tasks::TasksTimer>(
        broker::cloud_tasks::Options{.project = "acme",
                                     .location = "asia-south1",
                                     .queues = {"q1", "q2"},
                                     .target = "https://dispatch.example.com/v1/dispatch/s",
                                     .service_account = "tasks@acme.iam.gserviceaccount.com",
                                     .audience = "https://dispatch.example.com"},
        tasks, executor, clock);
  }
  void up() {
    start();
    connect();
  }
  broker::PushedTimer& pushed() { return static_cast<broker::PushedTimer&>(*timer); }
  void connect() { tasks.connect(&pushed()); }
  /// A kill of everything; Cloud Tasks, the topics and the store stay.
  void down() {
    tasks.connect(nullptr);
    kill();
  }
  void away(bool on) {
    tasks.refuse = {};
    if (on) tasks.refuse = [](const SimTasks::Task&) -> Refusal { return {{kUnavailable, "away"}}; };
  }
  /// The source gives an event out again, as Pub/Sub may days later: another message, the same event.
  void redeliver(const std::string& id) {
    broker.publisher("in")->publish({.id = "again-" + id,
                                     .body = R"({"id":")" + id + R"(","key":"k","n":2500.00})",
                                     .attributes = {},
                                     .published = {}},
                                    [](Result<void>) {});
  }
  [[nodiscard]] std::size_t unacked() { return broker.topic("in").messages.size(); }
  [[nodiscard]] std::size_t in_hand() {
    return static_cast<std::size_t>(
        std::ranges::count_if(broker.topic("in").messages, [](const auto& kept) { return kept.second.out; }));
  }
  [[nodiscard]] std::int64_t pending() {
    std::int64_t units = -1;
    store->inspect("s:k", stream->booking,
                   [&](Result<core::KeyView> view) { units = view ? view->pending : -2; });
    return units;
  }
  [[nodiscard]] std::map<std::string, int> times() const {
    std::map<std::string, int> counts;
    for (const Delivered& delivered : sink.delivered) ++counts[delivered.id];
    return counts;
  }
  /// Most releases in one window, each (event, instant) once.
  [[nodiscard]] std::size_t fullest(Duration window) const {
    std::map<std::int64_t, std::set<std::pair<std::string, WallTime>>> windows;
    for (const auto& [id, at] : watcher.releases) windows[at.time_since_epoch() / window].insert({id, at});
    std::size_t most = 0;
    for (const auto& [start, releases] : windows) most = std::max(most, releases.size());
    return most;
  }

  SimTasks tasks{executor, clock};
};

TEST_F(CloudTasksScenario, S3AReservationWithoutItsTaskIsTakenUpAgain) {
  away(true);
  up();
  for (const char* id : {"a", "b", "c"}) publish(id);
  executor.run_for(5s);
  EXPECT_EQ(unacked(), 1u) << "booked, not persisted: not acked";
  EXPECT_EQ(pending(), 1);
  down();
  away(false);
  up();
  executor.run_for(10s);
  EXPECT_EQ(unacked(), 0u);
  EXPECT_EQ(pending(), 1) << "the same booking";
  ASSERT_EQ(tasks.tasks.size(), 1u);
  EXPECT_EQ(tasks.tasks.begin()->second.task.due, kT0 + 60s);
  EXPECT_TRUE(tasks.tasks.begin()->first.ends_with("-g0")) << tasks.tasks.begin()->first;
  executor.run_for(60s);
  EXPECT_EQ(times(), (std::map<std::string, int>{{"a", 1}, {"b", 1}, {"c", 1}}));
  EXPECT_EQ(pending(), 0);
}

TEST_F(CloudTasksScenario, S3TakenUpAfterItsSlotItGoesInTheWindowThatIsThen) {
  away(true);
  up();
  for (const char* id : {"a", "b", "c"}) publish(id);
  executor.run_for(5s);
  down();
  executor.run_for(10min);
  away(false);
  up();
  executor.run_for(2min);
  EXPECT_EQ(times()["c"], 1);
  EXPECT_GE(watcher.releases.back().second, kT0 + 10min);
  EXPECT_EQ(unacked(), 0u);
  EXPECT_EQ(pending(), 0);
}

TEST_F(CloudTasksScenario, S4ACrashBetweenTheCreationAndTheAckIsOneTaskAndOneDelivery) {
  tasks.lose_reply = [](const SimTasks::Task&) { return true; };  // it dies before the answer
  up();
  for (const char* id : {"a", "b", "c"}) publish(id);
  executor.run_for(5s);
  ASSERT_EQ(tasks.tasks.size(), 1u);
  EXPECT_EQ(unacked(), 1u);
  down();
  tasks.lose_reply = {};
  up();
  executor.run_for(5s);
  EXPECT_EQ(unacked(), 0u) << "ALREADY_EXISTS is persisted";
  EXPECT_EQ(tasks.taken.size(), 1u);
  executor.run_for(2min);
  EXPECT_EQ(times(), (std::map<std::string, int>{{"a", 1}, {"b", 1}, {"c", 1}}));
}

TEST_F(CloudTasksScenario, S4GivenOutAgainAfterItsTaskHasFiredAndTheNameIsFreeItIsOnlyAcked) {
  up();
  for (const char* id : {"a", "b", "c"}) publish(id);
  executor.run_for(2min);
  ASSERT_EQ(sink.delivered.size(), 3u);
  executor.run_for(2h);
  tasks.taken.clear();
  redeliver("c");
  redeliver("a");
  executor.run_for(1min);
  EXPECT_EQ(unacked(), 0u);
  EXPECT_TRUE(tasks.taken.empty()) << "no second task";
  EXPECT_EQ(sink.delivered.size(), 3u);
  EXPECT_TRUE(dead().empty());
}

TEST_F(CloudTasksScenario, S4bACreationOfUnknownOutcomeIsRepeatedUnderItsNameOnly) {
  int lost = 0;
  tasks.lose_reply = [&lost](const SimTasks::Task&) { return ++lost <= 3; };
  up();
  for (const char* id : {"a", "b", "c"}) publish(id);
  executor.run_for(5min);
  EXPECT_GE(tasks.creates, 2u);
  EXPECT_EQ(tasks.taken.size(), 1u) << "never a second generation";
  EXPECT_TRUE(tasks.taken.begin()->ends_with("-g0"));
  EXPECT_EQ(times(), (std::map<std::string, int>{{"a", 1}, {"b", 1}, {"c", 1}}));
  EXPECT_EQ(unacked(), 0u);
}

TEST_F(CloudTasksScenario, S8bTasksThatRunTwiceAreDroppedAtTheGate) {
  constexpr std::size_t kEvents = 10'000;
  set_limit(1000, 60s);
  int fired = 0;
  int again = 0;
  // Some are run once more after they were answered, as the service says that it may.
  tasks.twice = [&](const SimTasks::Task& task) {
    if (++fired % 100 != 0) return false;
    executor.post_after(1s, [this, &again, task] {
      auto headers = task.headers;
      headers.emplace_back("X-CloudTasks-TaskName", task.id);
      pushed().receive(broker::cloud_tasks::read_task(headers, task.body), [&again](broker::Receipt receipt) {
        EXPECT_EQ(receipt, broker::Receipt::handled);
        ++again;
      });
    });
    return false;
  };
  up();
  for (std::size_t i = 0; i < kEvents; ++i) publish("e" + std::to_string(i));
  executor.run_for(15min);
  EXPECT_EQ(again, 90);
  EXPECT_EQ(sink.delivered.size(), kEvents) << "published exactly as often as there are events";
  EXPECT_EQ(times().size(), kEvents);
  EXPECT_EQ(fullest(60s), 1000u);
}

TEST_F(CloudTasksScenario, S14AfterTenMinutesWithoutADispatcherTenThousandDrainInTenMinutes) {
  constexpr std::size_t kDue = 10'000;
  set_limit(1000, 60s);
  up();
  for (std::size_t i = 0; i < 1000 + kDue; ++i) publish("e" + std::to_string(i));
  executor.run_for(50s);
  ASSERT_EQ(sink.delivered.size(), 1000u);
  ASSERT_EQ(tasks.tasks.size(), kDue);
  tasks.connect(nullptr);  // minutes 1 to 10 find nobody
  executor.run_for(10min + 10s);
  ASSERT_EQ(sink.delivered.size(), 1000u);
  connect();  // minute 11: all that is due at once
  const WallTime back = clock.now();
  executor.run_for(10min);
  EXPECT_EQ(sink.delivered.size(), 1000u + kDue);
  EXPECT_EQ(times().size(), 1000u + kDue);
  EXPECT_EQ(fullest(60s), 1000u);
  EXPECT_EQ(watcher.rebooks, 9000) << "each that found no room moved once";
  EXPECT_LE(watcher.releases.back().second, back + 10min);
  EXPECT_EQ(tasks.slowed, 0) << "no answer slows the queue down";
  EXPECT_EQ(pending(), 0);
  EXPECT_TRUE(dead().empty());
}

TEST_F(CloudTasksScenario, S14NewcomersStandBehindTheOverdueUntilTheBacklogIsGone) {
  set_limit(1000, 60s);
  auto even = std::make_shared<core::BookingPolicy>(*stream->booking);
  even->spread = core::Spread::even;
  stream->booking = std::move(even);
  up();
  for (int i = 0; i < 1000 + 6000; ++i) publish("e" + std::to_string(i));
  executor.run_for(59s);
  tasks.connect(nullptr);
  executor.run_for(6min + 1s);
  connect();
  const WallTime back = clock.now();
  // 600 a minute come while 1000 a minute go: 6,000 are gone after 15 minutes, and from then on all pass.
  std::optional<WallTime> passes;
  for (int live = 0; live < 600 * 17; ++live) {
    const std::string id = "live" + std::to_string(live);
    publish(id);
    executor.run_for(100ms);
    const bool now = watcher.verdicts.back().kind == EventVerdict::Kind::now;
    if (now && !passes) passes = clock.now();
    ASSERT_TRUE(now || !passes) << id << " waits although the backlog is gone";
  }
  ASSERT_TRUE(passes.has_value());
  EXPECT_GE(*passes, back + 14min + 50s);
  EXPECT_LE(*passes, back + 15min + 10s);
  EXPECT_LE(fullest(60s), 1000u);
  executor.run_for(2min);
  EXPECT_EQ(times().size(), 7000u + std::size_t{600 * 17});
}

TEST_F(CloudTasksScenario, S15bWhileCloudTasksIsAwayNothingIsAckedNothingPilesUpAndAllGoesAfter) {
  constexpr std::size_t kEvents = 3000;
  set_limit(100, 60s);
  flow.max_outstanding_messages = 200;
  away(true);
  up();
  for (std::size_t i = 0; i < kEvents; ++i) publish("e" + std::to_string(i));
  for (int second = 0; second < 5 * 60; ++second) {
    executor.run_for(1s);
    ASSERT_LE(in_hand(), flow.max_outstanding_messages);
  }
  EXPECT_TRUE(tasks.tasks.empty());
  EXPECT_EQ(unacked(), kEvents - sink.delivered.size()) << "acked is what was delivered, and nothing else";
  EXPECT_LE(sink.delivered.size(), 600u) << "a hundred a minute need no timer";
  EXPECT_TRUE(dead().empty());
  away(false);
  executor.run_for(45min);
  EXPECT_EQ(times().size(), kEvents);
  EXPECT_EQ(sink.delivered.size(), kEvents);
  EXPECT_EQ(unacked(), 0u);
  EXPECT_LE(fullest(60s), 100u);
  EXPECT_EQ(pending(), 0);
  EXPECT_TRUE(dead().empty());
}

/// Confirms a task later: the sink has it and nobody knows.
class LaterSink final : public broker::Sink {
 public:
  LaterSink(broker::Sink& inner, Executor& executor) : inner_(inner), executor_(executor) {}
  void deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) override {
    inner_.deliver(
        std::move(outgoing), guard_.wrap([this, done = std::move(done)](broker::SinkAnswer answer) mutable {
          executor_.post(guard_.wrap([done = std::move(done), answer]() mutable { done(answer); }));
        }));
  }

 private:
  broker::Sink& inner_;
  Executor& executor_;
  Guard guard_;
};

/// Calls and answers of every port, many of them tasks of their own, so that a kill fits between.
struct Steps {
  Steps(const Ports& raw, sim::Dice& dice)
      : trouble(raw.executor, dice, {}),
        store(raw.store, trouble),
        source(raw.source, trouble),
        overflow(raw.overflow, trouble),
        overflow_source(raw.overflow_source, trouble),
        timer(raw.timer, trouble),
        sink(raw.sink, raw.executor) {}
  sim::Trouble trouble;
  sim::FaultyStore store;
  sim::FaultySource source;
  sim::FaultyPublisher overflow;
  sim::FaultySource overflow_source;
  sim::FaultyTimer timer;
  LaterSink sink;
};

class World : public CloudTasksScenario {
  void TestBody() override {}

 public:
  explicit World(std::uint64_t seed) : dice_(seed) {}
  ~World() override { down(); }
  Ports ports() override {
    const Ports raw = CloudTasksScenario::ports();
    steps_ = std::make_unique<Steps>(raw, dice_);
    return {.executor = raw.executor,
            .clock = raw.clock,
            .store = steps_->store,
            .source = steps_->source,
            .overflow = steps_->overflow,
            .overflow_source = steps_->overflow_source,
            .timer = steps_->timer,
            .dead_letters = raw.dead_letters,
            .sink = steps_->sink,
            .flow = raw.flow};
  }
  /// Six events under two a minute, killed after so many tasks of the executor. False: it was over before.
  bool play(int kill_after) {
    up();
    for (int i = 0; i < kEvents; ++i) publish("e" + std::to_string(i));
    for (int i = 0; i < kill_after; ++i) {
      if (tasks.tasks.empty() && unacked() == 0 && deliveries() == kEvents) return false;
      if (!executor.run_one()) return false;
    }
    down();
    executor.run_for(1s);
    up();
    executor.run_for(20min);
    return true;
  }
  [[nodiscard]] std::size_t deliveries() const { return sink.delivered.size(); }
  void judge(int kill_after) {
    const auto counts = times();
    EXPECT_EQ(counts.size(), kEvents) << "killed after " << kill_after;
    EXPECT_LE(fullest(60s), 2u) << "killed after " << kill_after;
    EXPECT_EQ(unacked(), 0u) << "killed after " << kill_after;
    EXPECT_TRUE(tasks.tasks.empty()) << "killed after " << kill_after;
    EXPECT_EQ(pending(), 0) << "killed after " << kill_after;
    EXPECT_TRUE(dead().empty()) << "killed after " << kill_after;
    for (const Delivered& delivered : sink.delivered) {
      EXPECT_EQ(delivered.message.body, R"({"id":")" + delivered.id + R"(","key":"k","n":2500.00})");
    }
  }

  static constexpr int kEvents = 6;

 private:
  sim::Dice dice_;
  std::unique_ptr<Steps> steps_;
};

TEST(CloudTasksKilled, S16AtWhicheverStepNothingIsLostOrExceededAndWhatComesTwiceIsTheSame) {
  int killed = 0;
  int twice = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (int step = 0;; ++step) {
      World world(seed);
      if (!world.play(step)) break;
      ++killed;
      world.judge(step);
      if (::testing::Test::HasFailure()) return;
      if (world.deliveries() > World::kEvents) ++twice;
    }
  }
  EXPECT_GT(killed, 5 * 30) << "histories in which hardly anything happens";
  EXPECT_GT(twice, 0) << "at some step the sink has it and nobody knows";
}

}  // namespace
}  // namespace dripgate::drip
