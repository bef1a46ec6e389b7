// Whole pipelines: the scenarios of the drip that need intake, store, timer, overflow topic and sink
// together. Random trouble: tests/sim.
#include "drip/reasons.h"
#include "unit/drip/pipeline_fixture.h"

namespace dripgate::drip {
namespace {

using broker::SinkVerdict;
using Kind = EventVerdict::Kind;

TEST_F(PipelineFixture, DeliversInLimitAtOnceAndTheRestInItsWindows) {
  start();
  for (int i = 0; i < 5; ++i) publish("e" + std::to_string(i));
  executor.run_for(1s);
  EXPECT_EQ(sink.delivered.size(), 2u);
  EXPECT_EQ(broker.topic("in").messages.size(), 0u);
  EXPECT_EQ(status().backlog, 3u);
  EXPECT_EQ(status().oldest_slot, kT0 + 60s);
  EXPECT_EQ(status().eta, kT0 + 120s);
  executor.run_for(3min);
  ASSERT_EQ(sink.delivered.size(), 5u);
  EXPECT_EQ(sink.delivered[2].at, kT0 + 60s);
  EXPECT_EQ(sink.delivered[4].at, kT0 + 120s);
  EXPECT_EQ(waiting(), 0u);
  EXPECT_EQ(status().outstanding, 0u);
}

TEST_F(PipelineFixture, GivesTheSinkTheOriginalBytesAndTheHeaders) {
  start();
  const std::string body = " {\"id\":\"late\", \"key\":\"k\",\"n\":2500.00}\n";
  publish("a");
  publish("b");
  publish("late", "k", body);
  executor.run_for(2min);
  ASSERT_EQ(sink.delivered.size(), 3u);
  EXPECT_EQ(sink.delivered[2].message.body, body);
  EXPECT_EQ(header(2, "dripgate-id"), "late");
  EXPECT_EQ(header(2, "dripgate-stream"), "s");
  EXPECT_EQ(header(2, "dripgate-key"), "k");
  EXPECT_EQ(header(2, "dripgate-attempt"), "1");
  EXPECT_EQ(header(2, "dripgate-slot"), "2027-01-15T08:01:00.000Z");
  EXPECT_EQ(header(2, "dripgate-released"), "2027-01-15T08:01:00.000Z");
  EXPECT_EQ(header(2, "dripgate-hops"), "1");
  EXPECT_EQ(header(2, "traceparent"), "00-1");
  EXPECT_EQ(header(0, "dripgate-released"), "2027-01-15T08:00:00.000Z");
}

TEST_F(PipelineFixture, TellsOneVerdictPerEvent) {
  start();
  publish("a");
  publish("b");
  publish("c");
  publish("broken", "k", "no json");
  executor.run_for(1s);
  publish("a2", "k", R"({"id":"a","key":"k","other":1})");
  broker.publisher("in")->publish(
      {.id = "again", .body = R"({"id":"a","key":"k","n":2500.00})", .attributes = {}, .published = {}},
      [](Result<void>) {});
  executor.run_for(1s);
  std::map<std::string, Kind> kinds;
  for (const EventVerdict& verdict : watcher.verdicts)
    EXPECT_TRUE(kinds.emplace(verdict.message_id, verdict.kind).second);
  EXPECT_EQ(kinds, (std::map<std::string, Kind>{{"m-a", Kind::now},
                                                {"m-b", Kind::now},
                                                {"m-c", Kind::scheduled},
                                                {"m-broken", Kind::dead_letter},
                                                {"m-a2", Kind::conflict},
                                                {"again", Kind::duplicate}}));
}

TEST_F(PipelineFixture, ConflictsAreLettersOfTheirOwn) {
  start();
  sink.answers = {{SinkVerdict::refused, {}, "HTTP 400"}};
  publish("a");
  executor.run_for(1s);
  publish("a2", "k", R"({"id":"a","key":"k","other":1})");
  publish("a3", "k", R"({"id":"a","key":"k","other":2})");
  executor.run_for(1s);
  ASSERT_EQ(dead().size(), 3u);
  EXPECT_EQ(dead()[0].reason, reasons::kRefusedBySink);
  EXPECT_EQ(dead()[1].reason, reasons::kIdConflict);
  EXPECT_EQ(dead()[2].message.body, R"({"id":"a","key":"k","other":2})");
}

TEST_F(PipelineFixture, OneIdUnderTwoKeysLosesNothing) {
  start();
  for (const char* key : {"j", "k"}) {
    for (int i = 0; i < 2; ++i) publish(key + std::to_string(i), key);
  }
  executor.run_for(1s);
  publish("first", "j", R"({"id":"L","key":"j","amount":1})");
  publish("second", "k", R"({"id":"L","key":"k","amount":2})");
  executor.run_for(10min);
  EXPECT_EQ(sink.delivered.size(), 5u);
  ASSERT_EQ(dead().size(), 1u);
  EXPECT_EQ(dead()[0].reason, reasons::kIdConflict);
  EXPECT_EQ(dead()[0].message.body, R"({"id":"L","key":"k","amount":2})");
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(PipelineFixture, AVeryLongIdTravelsAsItsDigest) {
  start();
  publish(std::string(kEventIdBytesMax, 'i'));
  publish(std::string(kEventIdBytesMax + 1, 'i'));
  executor.run_for(1s);
  EXPECT_EQ(header(0, "dripgate-id"), std::string(kEventIdBytesMax, 'i'));
  EXPECT_EQ(header(1, "dripgate-id").size(), 65u);
}

TEST_F(PipelineFixture, OneDeadIdWithTwoBodiesIsTwoLetters) {
  max_delay = 1s;
  set_limit(1, 60s);
  start();
  publish("fill");
  publish("first", "k", R"({"id":"y","key":"k","v":1})");
  publish("second", "k", R"({"id":"y","key":"k","v":2})");
  executor.run_for(1s);
  ASSERT_EQ(dead().size(), 2u);
  EXPECT_EQ(dead()[0].message.body, R"({"id":"y","key":"k","v":1})");
  EXPECT_EQ(dead()[1].message.body, R"({"id":"y","key":"k","v":2})");
}

TEST_F(PipelineFixture, TheHorizonIsInclusive) {  // S9
  max_delay = 60s;
  set_limit(1, 60s);
  start();
  for (const char* id : {"now", "at the horizon", "beyond"}) publish(id);
  executor.run_for(1s);
  ASSERT_EQ(dead().size(), 1u);
  EXPECT_EQ(dead()[0].event_id, "beyond");
  EXPECT_EQ(dead()[0].reason, reasons::kBeyondHorizon);
  EXPECT_EQ(dead()[0].detail,
            "its slot would have been 2027-01-15T08:02:00Z, the latest accepted is 2027-01-15T08:01:00Z");
  EXPECT_EQ(broker.timers("s").entries.size(), 1u);
}

TEST_F(PipelineFixture, AFreezeBeyondTheHorizonIsTheReason) {  // S9b
  max_delay = 60s;
  set_limit(2, 60s);
  store->freeze("s:k", kT0 + 1h, [](Result<void>) {});
  start();
  publish("a");
  executor.run_for(1s);
  ASSERT_EQ(dead().size(), 1u);
  EXPECT_EQ(dead()[0].reason, reasons::kFrozenPastHorizon);
}

TEST_F(PipelineFixture, ACostAboveTheLimitIsADeadLetterAtOnce) {  // S18
  stream->cost = core::KeyTemplate::parse("{cost}").value();
  start();
  publish("big", "k", R"({"id":"big","key":"k","cost":3})");
  executor.run_for(1s);
  ASSERT_EQ(dead().size(), 1u);
  EXPECT_EQ(dead()[0].reason, reasons::kCostExceedsLimit);
}

TEST_F(PipelineFixture, NewEventsPassAtOnceAfterTheBurst) {  // G6, a tenth of its size
  set_limit(10, 60s);
  start();
  const auto burst = [this](const std::string& name, int count) {
    for (int i = 0; i < count; ++i) publish(name + std::to_string(i));
  };
  const auto released = [this](WallTime from) {
    return std::ranges::count_if(watcher.releases,
                                 [&](const auto& r) { return r.second >= from && r.second < from + 60s; });
  };
  burst("a", 20);
  executor.run_for(60s);
  burst("b", 2);
  executor.run_for(60s);
  burst("c", 2);
  executor.run_for(60s);
  burst("d", 2);
  executor.run_for(60s);
  EXPECT_EQ(released(kT0), 10);
  EXPECT_EQ(released(kT0 + 60s), 10);
  EXPECT_EQ(released(kT0 + 120s), 4);
  EXPECT_EQ(released(kT0 + 180s), 2);
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(PipelineFixture, AnEventOfAnotherKeyDoesNotWaitForABacklog) {  // G3, a tenth of its size
  max_delay = 24h;
  set_limit(1, 60s);
  flow.max_outstanding_messages = 10;
  start();
  for (int i = 0; i < 2000; ++i) publish("a" + std::to_string(i), "A");
  publish("b", "B");
  std::uint64_t most = 0;
  for (int i = 0; i < 100; ++i) {
    executor.run_for(10ms);
    most = std::max(most, status().outstanding);
  }
  EXPECT_LE(most, 10u);
  EXPECT_TRUE(std::ranges::any_of(sink.delivered, [](const Delivered& d) { return d.id == "b"; }));
  EXPECT_EQ(status().backlog, 1440u);
  EXPECT_EQ(status().dead_letters, 2000u - 1u - 1440u);
}

}  // namespace
}  // namespace dripgate::drip
