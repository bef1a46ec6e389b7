// Whole pipelines in trouble: sinks that fail, refuse or say 429, dead letters that are down, poison,
// outages, shutdown.
#include "broker/claims.h"
#include "drip/reasons.h"
#include "unit/drip/pipeline_fixture.h"

namespace dripgate::drip {
namespace {

using broker::SinkVerdict;

TEST_F(PipelineFixture, BeingRateLimitedIsNotAFailedAttempt) {  // G12
  stream->max_attempts = 3;
  start();
  for (int i = 0; i < 10; ++i) sink.answers.push_back({SinkVerdict::rate_limited, 5s, "HTTP 429"});
  publish("a");
  executor.run_for(20min);
  ASSERT_EQ(sink.delivered.size(), 11u);
  for (std::size_t i = 0; i < 11; ++i) EXPECT_EQ(header(i, "dripgate-attempt"), "1");
  for (std::size_t i = 1; i < 11; ++i) EXPECT_GE(sink.delivered[i].at - sink.delivered[i - 1].at, 5s);
  EXPECT_TRUE(dead().empty());
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(PipelineFixture, ASinkThatAlways429sIsAskedLessAndLessUntilTheHorizon) {  // G12, H1
  max_delay = 10min;
  set_limit(100, 1s);
  start();
  for (int i = 0; i < 1000; ++i) sink.answers.push_back({SinkVerdict::rate_limited, 0us, "HTTP 429"});
  publish("a");
  executor.run_for(10s);
  EXPECT_LE(sink.delivered.size(), 8u);
  executor.run_for(1h);
  ASSERT_EQ(dead().size(), 1u);
  EXPECT_EQ(dead()[0].reason, reasons::kFrozenPastHorizon);
  EXPECT_EQ(dead()[0].attempts, 0);
  EXPECT_LE(sink.delivered.size(), 16u);
}

TEST_F(PipelineFixture, EveryFurtherAttemptIsChargedAndLater) {  // S21, G9
  stream->max_attempts = 3;
  set_limit(1, 60s);
  start();
  for (int i = 0; i < 9; ++i) sink.answers.push_back({SinkVerdict::failed, {}, "HTTP 503"});
  publish("a");
  executor.run_for(20min);
  ASSERT_EQ(sink.delivered.size(), 3u);
  EXPECT_EQ(sink.delivered[1].at, kT0 + 60s);
  EXPECT_EQ(sink.delivered[2].at, kT0 + 120s);
  EXPECT_EQ(header(2, "dripgate-attempt"), "3");
  ASSERT_EQ(dead().size(), 1u);
  EXPECT_EQ(dead()[0].reason, reasons::kAttemptsExhausted);
  EXPECT_EQ(dead()[0].detail, "the sink answered: HTTP 503");
  EXPECT_EQ(dead()[0].attempts, 3);
  EXPECT_EQ(watcher.releases.size(), 3u);
  EXPECT_TRUE(executor.idle());
}

TEST_F(PipelineFixture, RetriesAreFreeWhereTheStreamSaysSo) {
  stream->max_attempts = 5;
  stream->retries_cost = false;
  set_limit(1, 60s);
  start();
  sink.answers = {{SinkVerdict::failed, {}, "HTTP 503"}, {SinkVerdict::failed, {}, "HTTP 503"}};
  publish("a");
  executor.run_for(30s);
  EXPECT_EQ(sink.delivered.size(), 3u);
  EXPECT_EQ(watcher.releases.size(), 1u);
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(PipelineFixture, ARefusalIsADeadLetterAfterOneAttempt) {  // G9
  start();
  sink.answers = {{SinkVerdict::refused, {}, "HTTP 400"}};
  publish("a");
  executor.run_for(10min);
  EXPECT_EQ(sink.delivered.size(), 1u);
  ASSERT_EQ(dead().size(), 1u);
  EXPECT_EQ(dead()[0].reason, reasons::kRefusedBySink);
  EXPECT_EQ(dead()[0].attempts, 1);
}

TEST_F(PipelineFixture, ANowThatWaitedPastItsWindowIsBookedAgain) {
  set_limit(1, 10s);
  start();
  class LateSink final : public broker::Sink {
   public:
    LateSink(Executor& executor, broker::Sink& inner) : executor_(executor), inner_(inner) {}
    void deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) override {
      executor_.post_after(std::exchange(wait_, 0us),
                           [this, outgoing = std::move(outgoing), done = std::move(done)]() mutable {
                             inner_.deliver(std::move(outgoing), std::move(done));
                           });
    }

   private:
    Executor& executor_;
    broker::Sink& inner_;
    Duration wait_ = 25s;
  } late(executor, sink);
  kill();
  source = broker.source("in");
  overflow_source = broker.source("over");
  timer = broker.timer("s");
  pipeline = std::make_unique<Pipeline>([this] { return core::StreamPtr(stream); },
                                        Ports{.executor = executor,
                                              .clock = clock,
                                              .store = *store,
                                              .source = *source,
                                              .overflow = *overflow,
                                              .overflow_source = *overflow_source,
                                              .timer = *timer,
                                              .dead_letters = *real_letters,
                                              .sink = late,
                                              .flow = flow},
                                        watcher);
  pipeline->start();
  publish("a");
  executor.run_for(2min);
  ASSERT_EQ(sink.delivered.size(), 1u);
  EXPECT_EQ(sink.delivered[0].at, kT0 + 25s);
  EXPECT_EQ(header(0, "dripgate-released"), "2027-01-15T08:00:25.000Z");
}

TEST_F(PipelineFixture, NothingIsAckedWhileTheDeadLettersAreDown) {  // S15
  start();
  letters->down = true;
  for (int i = 0; i < 20; ++i) publish("broken" + std::to_string(i), "k", "no json " + std::to_string(i));
  executor.run_for(10s);
  EXPECT_EQ(broker.topic("in").messages.size(), 20u);
  EXPECT_TRUE(status().last_error.has_value());
  const int before = letters->adds;
  executor.run_for(10min);
  EXPECT_LE(letters->adds, before + 2 * 20);  // no storm: only what probes let through
  letters->down = false;
  executor.run_for(2min);
  EXPECT_EQ(dead().size(), 20u);
  EXPECT_EQ(broker.topic("in").messages.size(), 0u);
  EXPECT_FALSE(status().last_error.has_value());
}

TEST_F(PipelineFixture, ReplaysDeadLettersThroughReserveUnderItsRate) {  // S23
  set_limit(2, 60s);
  stream->max_attempts = 1;
  start();
  for (int i = 0; i < 4; ++i) sink.answers.push_back({SinkVerdict::failed, {}, "HTTP 503"});
  for (int i = 0; i < 4; ++i) publish("e" + std::to_string(i));
  executor.run_for(5min);
  ASSERT_EQ(dead().size(), 4u);
  const WallTime began = clock.now();
  std::uint64_t letters_to_replay = 0;
  pipeline->replay({.sequence = {}, .per_second = 1},
                   [&](Result<std::uint64_t> count) { letters_to_replay = count.value(); });
  EXPECT_EQ(letters_to_replay, 4u);
  executor.run_for(1500ms);
  EXPECT_EQ(sink.delivered.size(), 4u + 2u);
  executor.run_for(3min);
  ASSERT_EQ(sink.delivered.size(), 8u);
  EXPECT_EQ(sink.delivered[6].at, began + 60s - began.time_since_epoch() % 60s);
  EXPECT_EQ(sink.delivered[4].id, sink.delivered[0].id);
  EXPECT_TRUE(dead().empty());
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(PipelineFixture, ReplayDeliversNothingThatWasPublishedAgainAndDelivered) {
  max_delay = 30s;
  set_limit(1, 60s);
  start();
  publish("a");
  publish("b");
  executor.run_for(1s);
  ASSERT_EQ(dead().size(), 1u);
  ASSERT_EQ(dead()[0].event_id, "b");
  executor.run_for(2min);
  broker.publisher("in")->publish(
      {.id = "m-b-again", .body = dead()[0].message.body, .attributes = {}, .published = {}},
      [](Result<void>) {});
  executor.run_for(1s);
  ASSERT_EQ(sink.delivered.size(), 2u);
  EXPECT_EQ(sink.delivered[1].id, "b");
  pipeline->replay({.sequence = dead()[0].sequence, .per_second = 1},
                   [](Result<std::uint64_t> count) { EXPECT_EQ(count.value(), 1u); });
  executor.run_for(5min);
  EXPECT_EQ(sink.delivered.size(), 2u);
  EXPECT_TRUE(dead().empty()) << "its event is through";
}

TEST_F(PipelineFixture, ReplayOfWhatIsRefusedAgainKeepsTheLetter) {
  start();
  publish("broken", "k", "no json");
  sink.answers = {{SinkVerdict::refused, {}, "HTTP 400"}, {SinkVerdict::refused, {}, "HTTP 400"}};
  publish("a");
  executor.run_for(1s);
  ASSERT_EQ(dead().size(), 2u);
  pipeline->replay({.sequence = {}, .per_second = 100}, [](Result<std::uint64_t>) {});
  executor.run_for(10s);
  EXPECT_EQ(dead().size(), 2u);
  for (const std::int64_t rate : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000'000}}) {
    pipeline->replay({.sequence = {}, .per_second = rate}, [](Result<std::uint64_t> count) {
      EXPECT_EQ(count.error().code, ErrorCode::invalid_argument);
    });
  }
  pipeline->replay({.sequence = 99, .per_second = 1},
                   [](Result<std::uint64_t> count) { EXPECT_EQ(count.error().code, ErrorCode::not_found); });
}

TEST_F(PipelineFixture, ShutdownLetsTheSinkAnswerAndPullsNoMore) {  // S26
  start();
  sink.hold = true;
  publish("a");
  executor.run_for(1s);
  bool ended = false;
  pipeline->shutdown(30s, [&](Result<void>) { ended = true; });
  publish("b");
  executor.run_for(5s);
  EXPECT_FALSE(ended);
  sink.held.at(0)({});
  executor.run_for(1s);
  EXPECT_TRUE(ended);
  EXPECT_EQ(sink.delivered.size(), 1u);
  EXPECT_EQ(broker.topic("in").messages.size(), 1u);
  kill();
  sink.hold = false;
  start();
  executor.run_for(10s);
  EXPECT_EQ(sink.delivered.size(), 2u);
}

TEST_F(PipelineFixture, ShutdownEndsWhenItsWaitIsOver) {
  start();
  sink.hold = true;
  publish("a");
  executor.run_for(1s);
  bool ended = false;
  pipeline->shutdown(30s, [&](Result<void>) { ended = true; });
  executor.run_for(29s);
  EXPECT_FALSE(ended);
  executor.run_for(2s);
  EXPECT_TRUE(ended);
  EXPECT_EQ(broker.topic("in").messages.size(), 1u);
}

TEST_F(PipelineFixture, APausedStreamDeliversNothing) {
  start();
  pipeline->pause();
  publish("a");
  executor.run_for(10min);
  EXPECT_TRUE(sink.delivered.empty());
  EXPECT_TRUE(status().paused);
  pipeline->resume();
  executor.run_for(1s);
  EXPECT_EQ(sink.delivered.size(), 1u);
}

TEST_F(PipelineFixture, AnEmptiedStoreIsRebuiltFromTheTickets) {  // S27, smaller
  set_limit(2, 60s);
  start();
  for (int i = 0; i < 10; ++i) publish("e" + std::to_string(i));
  executor.run_for(1s);
  kill();
  store = store::make_memory_booking_store(clock, 100'000);
  start();
  executor.run_for(10min);
  EXPECT_EQ(sink.delivered.size(), 10u);
  std::map<WallTime, int> per_minute;
  for (const auto& [id, at] : watcher.releases) ++per_minute[at - at.time_since_epoch() % 60s];
  for (const auto& [minute, count] : per_minute) EXPECT_LE(count, 2) << to_us(minute);
}

TEST_F(PipelineFixture, PoisonGoesToTheDeadLettersOnceAndNeverLoops) {
  start();
  broker.publisher("over")->publish({.id = "p1", .body = "{}", .attributes = {}, .published = {}},
                                    [](Result<void>) {});
  broker.timer("s")->schedule(
      {.id = "p2",
       .due = kT0,
       .message = {.id = {}, .body = "x", .attributes = {{"dripgate-ticket", "gate"}}, .published = {}}},
      [](Result<void>) {});
  kill();
  start();
  executor.run_for(1h);
  ASSERT_EQ(dead().size(), 2u);
  for (const auto& letter : dead()) EXPECT_EQ(letter.reason, reasons::kPoison);
  pipeline->replay({.sequence = dead()[0].sequence, .per_second = 1},
                   [](Result<std::uint64_t> count) { EXPECT_EQ(count.error().code, ErrorCode::conflict); });
  EXPECT_TRUE(sink.delivered.empty());
  EXPECT_EQ(waiting(), 0u);
  EXPECT_TRUE(executor.idle());
}

TEST_F(PipelineFixture, AnEntryWithoutItsBytesIsALetterWithItsReasonAndHoldsNoRoom) {
  set_limit(1, 60s);
  start();
  for (const char* id : {"now", "lost", "next"}) publish(id);
  executor.run_for(1s);
  // As a timer hands an entry on whose claim is gone (broker/claims.h).
  for (auto& [number, stored] : broker.timers("s").entries) {
    if (*broker::find(stored.entry.message.attributes, "dripgate-id") != "lost") continue;
    stored.entry.message.body.clear();
    broker::set(stored.entry.message.attributes, broker::kClaimLostAttribute, "claim x is not there");
  }
  executor.run_for(10min);
  ASSERT_EQ(dead().size(), 1u);
  const broker::DeadLetter letter = dead()[0];
  EXPECT_EQ(letter.event_id, "lost");
  EXPECT_EQ(letter.reason, reasons::kClaimLost);
  EXPECT_EQ(letter.detail, "claim x is not there");
  EXPECT_EQ(*broker::find(letter.message.attributes, "traceparent"), "00-1");
  EXPECT_EQ(sink.delivered.size(), 2u) << "never an empty delivery";
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(PipelineFixture, AnEntryWithoutItsBytesThatComesOnceMoreIsNoLetter) {
  set_limit(1, 60s);
  start();
  publish("now");
  publish("later");
  executor.run_for(1s);
  auto entry = broker.timers("s").entries.begin()->second.entry;
  executor.run_for(2min);
  ASSERT_EQ(sink.delivered.size(), 2u);
  entry.id += "again";
  entry.due = clock.now();
  entry.message.body.clear();
  broker::set(entry.message.attributes, broker::kClaimLostAttribute, "claim x is not there");
  timer->schedule(entry, [](Result<void>) {});
  executor.run_for(10min);
  EXPECT_TRUE(dead().empty());
  EXPECT_EQ(sink.delivered.size(), 2u);
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(PipelineFixture, AnOverflowMessageCannotSayThatItsBytesAreLost) {
  set_limit(1, 60s);
  start();
  publish("now");
  publish("later");
  executor.run_for(1s);
  broker::Message forged = broker.timers("s").entries.begin()->second.entry.message;
  forged.id = "forged";
  forged.body.clear();
  broker::set(forged.attributes, "dripgate-ticket", "overflow");
  broker::set(forged.attributes, broker::kClaimLostAttribute, "claim x is not there");
  broker.publisher("over")->publish(forged, [](Result<void>) {});
  executor.run_for(10min);
  ASSERT_EQ(dead().size(), 1u);
  EXPECT_EQ(dead()[0].reason, reasons::kPoison);
  EXPECT_EQ(sink.delivered.size(), 2u);
}

TEST_F(PipelineFixture, AnOutageIsDrainedAtTheLimit) {  // G7, S14, smaller
  set_limit(10, 60s);
  start();
  for (int i = 0; i < 100; ++i) publish("e" + std::to_string(i));
  executor.run_for(30s);
  kill();
  executor.run_for(1h);
  start();
  executor.run_for(30min);
  EXPECT_EQ(sink.delivered.size(), 100u);
  std::map<WallTime, int> per_minute;
  for (const auto& [id, at] : watcher.releases) ++per_minute[at - at.time_since_epoch() % 60s];
  for (const auto& [minute, count] : per_minute) EXPECT_LE(count, 10) << to_us(minute);
  EXPECT_EQ(waiting(), 0u);
}

}  // namespace
}  // namespace dripgate::drip
