// A subscription as a source: leases, flow control, redeliveries, streams that end, exactly-once; and what a
// publisher makes of failures. In virtual time.
#include <gmock/gmock.h>

#include "unit/broker/pubsub_side.h"

namespace dripgate::broker::pubsub {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using PubsubSource = PubsubSide;

TEST_F(PubsubSource, AsksForAStreamWithItsBoundsAndReadsWhileThereIsRoom) {
  start({.max_outstanding_messages = 2, .max_outstanding_bytes = 1000});
  const HandStream& stream = transport.stream();
  EXPECT_EQ(stream.options.subscription, "projects/p/subscriptions/s");
  EXPECT_EQ(stream.options.ack_deadline_seconds, kLeaseSecondsMin);
  EXPECT_EQ(stream.options.max_outstanding_messages, 2);
  EXPECT_EQ(stream.options.max_outstanding_bytes, 1000);
  EXPECT_EQ(stream.reads, 1);
  // A server that ignores the bounds: the rest waits here, and nothing more is read.
  transport.stream().bring(pulled({received("1", "a"), received("2", "b"), received("3", "c")}));
  executor.run_ready();
  EXPECT_EQ(got.size(), 2u);
  EXPECT_EQ(stream.reads, 0);
  source->ack(got[0].token, [](Result<void> done) { EXPECT_TRUE(done); });
  executor.run_ready();
  EXPECT_EQ(got.size(), 3u);
  EXPECT_EQ(stream.reads, 0);
  source->ack(got[1].token, [](Result<void> done) { EXPECT_TRUE(done); });
  executor.run_ready();
  EXPECT_EQ(stream.reads, 1);
  EXPECT_THAT(calls(), ElementsAre("ack a", "ack b"));
}

TEST_F(PubsubSource, KeepsALeaseUntilItIsSettled) {
  start();
  transport.stream().bring(pulled({received("1", "a")}));
  executor.run_for(30s);
  // At half of every 10 s.
  EXPECT_THAT(calls(), ElementsAre("10 a", "10 a", "10 a", "10 a", "10 a", "10 a"));
  source->ack(got[0].token, [](Result<void>) {});
  transport.acks.clear();
  executor.run_for(1min);
  EXPECT_THAT(calls(), ElementsAre("ack a"));
}

TEST_F(PubsubSource, StopsAtTheHandlingDeadlineAndMakesRoom) {
  start({.max_outstanding_messages = 1});
  transport.stream().bring(pulled({received("1", "a"), received("2", "b")}));
  executor.run_for(10min - 1s);
  EXPECT_EQ(got.size(), 1u);
  executor.run_for(2s);
  const std::size_t extensions = transport.acks.size();
  executor.run_for(1min);
  EXPECT_EQ(transport.acks.size(), extensions);
  // The one that waited is over too: both come again from the server.
  EXPECT_EQ(got.size(), 1u);
  EXPECT_EQ(transport.stream().reads, 1);
  transport.stream().bring(pulled({received("2", "b2")}));
  executor.run_ready();
  ASSERT_EQ(got.size(), 2u);
  // And an ack that comes after all is sent.
  source->ack(got[0].token, [](Result<void> done) { EXPECT_TRUE(done); });
  executor.run_ready();
  EXPECT_THAT(calls().back(), "ack a");
}

TEST_F(PubsubSource, GivesBackWithADelayThatGrowsAndTellsHowOften) {
  start();
  transport.stream().bring(pulled({received("1", "a0")}));
  executor.run_ready();
  for (int lapses = 1; lapses <= 8; ++lapses) {
    ASSERT_EQ(got.size(), static_cast<std::size_t>(lapses));
    EXPECT_EQ(got.back().redeliveries, lapses - 1);
    source->lapse(got.back().token);
    executor.run_ready();
    transport.stream().bring(pulled({received("1", "a" + std::to_string(lapses))}));
    executor.run_ready();
  }
  EXPECT_THAT(calls(), ElementsAre("1 a0", "2 a1", "4 a2", "8 a3", "16 a4", "32 a5", "60 a6", "60 a7"));
}

TEST_F(PubsubSource, TakesAnAckAfterTheLapse) {
  start();
  transport.stream().bring(pulled({received("1", "a")}));
  executor.run_ready();
  source->lapse(got[0].token);
  bool acked = false;
  source->ack(got[0].token, [&](Result<void> done) { acked = done.has_value(); });
  executor.run_ready();
  EXPECT_TRUE(acked);
  // The ack took the place of the change that still waited.
  EXPECT_THAT(calls(), ElementsAre("ack a"));
}

TEST_F(PubsubSource, HandsOutOnceWhatIsDeliveredTwice) {
  start();
  transport.stream().bring(pulled({received("1", "a")}));
  executor.run_ready();
  transport.stream().bring(pulled({received("1", "b")}));
  executor.run_for(6s);
  EXPECT_EQ(got.size(), 1u);
  EXPECT_THAT(calls(), ElementsAre("10 b"));
  source->ack(got[0].token, [](Result<void> done) { EXPECT_TRUE(done); });
  executor.run_ready();
  EXPECT_EQ(calls().back(), "ack b");
}

TEST_F(PubsubSource, AcksTheNewerDeliveryTooWhenItComesDuringTheAck) {
  start();
  transport.answers_acks = false;
  transport.stream().bring(pulled({received("1", "a")}));
  executor.run_ready();
  bool acked = false;
  source->ack(got[0].token, [&](Result<void> done) { acked = done.has_value(); });
  executor.run_ready();
  transport.stream().bring(pulled({received("1", "b")}));
  executor.run_ready();
  transport.acks[0].done({});
  executor.run_ready();
  EXPECT_FALSE(acked);
  ASSERT_EQ(calls(), (std::vector<std::string>{"ack a", "ack b"}));
  transport.acks[1].done({});
  executor.run_ready();
  EXPECT_TRUE(acked);
  EXPECT_EQ(got.size(), 1u);
}

TEST_F(PubsubSource, RepeatsAnAckWhoseOutcomeIsUnknownAndGivesUpOneThatIsRefused) {
  start();
  transport.answers_acks = false;
  transport.stream().bring(pulled({received("1", "a"), received("2", "b")}));
  executor.run_ready();
  std::vector<std::string> outcomes;
  for (const Delivery& delivery : got) {
    source->ack(delivery.token, [&, id = delivery.message.id](Result<void> done) {
      outcomes.push_back(id + (done ? " ok" : " " + done.error().detail));
    });
  }
  executor.run_ready();
  transport.acks[0].done(std::unexpected(Failure{Status::unavailable, "gone"}));
  executor.run_for(kRepeatMin);
  ASSERT_EQ(calls().back(), "ack a b");
  ASSERT_EQ(transport.acks.size(), 2u);
  transport.acks[1].done(
      std::unexpected(Failure{Status::failed_precondition,
                              "",
                              {{"a", "PERMANENT_FAILURE_INVALID_ACK_ID"}, {"b", "TRANSIENT_FAILURE_X"}}}));
  executor.run_for(kSenderWaitMax);
  ASSERT_EQ(calls().back(), "ack b");
  transport.acks[2].done({});
  executor.run_ready();
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_THAT(outcomes[0], HasSubstr("1 an ack of projects/p/subscriptions/s: FAILED_PRECONDITION"));
  EXPECT_EQ(outcomes[1], "2 ok");
}

TEST_F(PubsubSource, ExactlyOnceIsOursOnceTheReceiptIsTaken) {
  start();
  transport.answers_acks = false;
  transport.stream().bring(pulled({received("1", "a"), received("2", "b")}, true));
  executor.run_ready();
  EXPECT_THAT(got, IsEmpty());
  ASSERT_THAT(calls(), ElementsAre("60 a b"));
  transport.acks[0].done(std::unexpected(Failure{
      Status::failed_precondition, "", {{"a", "PERMANENT_FAILURE_INVALID_ACK_ID"}, {"b", "TRANSIENT_X"}}}));
  executor.run_for(kRepeatMin);
  ASSERT_EQ(calls().back(), "60 b");
  transport.acks[1].done({});
  executor.run_ready();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].message.id, "2");
  // The lost one comes with another ack id.
  transport.stream().bring(pulled({received("1", "a2")}));
  executor.run_ready();
  EXPECT_EQ(calls().back(), "60 a2");
}

TEST_F(PubsubSource, OpensAStreamAgainWhateverEndedIt) {
  start();
  executor.run_for(kStreamLived);
  transport.stream().end(Status::unavailable);  // in the course of things
  executor.run_ready();
  EXPECT_EQ(transport.streams.size(), 2u);
  EXPECT_EQ(transport.stream().options.client_id, transport.streams[0]->options.client_id);
  transport.stream().end(Status::unavailable);  // at once
  executor.run_ready();
  EXPECT_EQ(transport.streams.size(), 2u);
  executor.run_for(kRepeatMin);
  EXPECT_EQ(transport.streams.size(), 3u);
  transport.stream().end(Status::permission_denied);
  executor.run_for(kRepeatMax - 1s);
  EXPECT_EQ(transport.streams.size(), 3u);
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_THAT(troubles[0], HasSubstr("pull from projects/p/subscriptions/s: PERMISSION_DENIED (by hand)"));
  executor.run_for(1s);
  EXPECT_EQ(transport.streams.size(), 4u);
}

TEST_F(PubsubSource, SaysOnceThatATroubleIsOver) {
  start();
  transport.stream().end(Status::permission_denied);
  executor.run_for(kRepeatMax);
  ASSERT_EQ(transport.streams.size(), 2u);
  transport.stream().end(Status::permission_denied);
  executor.run_for(kRepeatMax);
  EXPECT_EQ(troubles.size(), 2u) << "while it lasts";
  ASSERT_EQ(transport.streams.size(), 3u);
  transport.stream().bring(pulled({received("1", "a")}));
  executor.run_ready();
  transport.stream().bring(pulled({received("2", "b")}));
  executor.run_ready();
  ASSERT_EQ(troubles.size(), 3u);
  EXPECT_EQ(troubles.back(), "well");
  transport.stream().end(Status::not_found);
  executor.run_for(kRepeatMax + kStreamLived - 2 * kLeaseTick);
  EXPECT_NE(troubles.back(), "well");
  executor.run_for(4 * kLeaseTick);
  EXPECT_EQ(troubles.back(), "well") << "nothing came, but the stream stays open";
}

TEST_F(PubsubSource, KeepsWhatIsHereOverAPauseAndSaysThatItIsThere) {
  start();
  transport.stream().bring(pulled({received("1", "a")}));
  executor.run_for(31s);
  EXPECT_THAT(transport.stream().pings, ElementsAre(10));
  source->pause();
  EXPECT_FALSE(transport.stream().open);
  transport.acks.clear();
  executor.run_for(11s);
  EXPECT_THAT(calls(), ElementsAre("10 a", "10 a"));
  source->resume();
  executor.run_ready();
  EXPECT_EQ(transport.streams.size(), 2u);
  EXPECT_EQ(transport.stream().reads, 1);
}

using PubsubPublisher = PubsubSide;

struct Outcome {
  int ok = 0;
  std::vector<Error> errors;
  Done<void> done() {
    return [this](Result<void> result) {
      if (result) return void(++ok);
      errors.push_back(result.error());
    };
  }
};

TEST_F(PubsubPublisher, SendsWhatIsPublishedInOneTurnTogetherAndAgainWhenItMayHelp) {
  TopicPublisher publisher(context, "projects/p/topics/t");
  Outcome outcome;
  for (const char* body : {"a", "b"}) publisher.publish({"", body, {}, {}}, outcome.done());
  EXPECT_TRUE(transport.publishes.empty());
  executor.run_ready();
  ASSERT_EQ(transport.publishes.size(), 1u);
  EXPECT_THAT(transport.publishes[0].bodies, ElementsAre("a", "b"));
  transport.publishes[0].done(std::unexpected(Failure{Status::deadline_exceeded, ""}));
  executor.run_for(kRepeatMin);
  ASSERT_EQ(transport.publishes.size(), 2u);
  transport.publishes[1].done(std::vector<std::string>{"1", "2"});
  EXPECT_EQ(outcome.ok, 2);
}

TEST_F(PubsubPublisher, GivesUpAfterAFewAndSaysWhetherTheEventIsAtFault) {
  TopicPublisher publisher(context, "projects/p/topics/t");
  Outcome outcome;
  publisher.publish({"", "a", {}, {}}, outcome.done());
  for (int tries = 1; tries <= kPublishTriesMax; ++tries) {
    executor.run_for(1s);
    ASSERT_EQ(transport.publishes.size(), static_cast<std::size_t>(tries));
    transport.publishes.back().done(std::unexpected(Failure{Status::unavailable, "no"}));
  }
  publisher.publish({"", "b", {}, {}}, outcome.done());
  executor.run_ready();
  transport.publishes.back().done(std::unexpected(Failure{Status::not_found, "no topic"}));
  ASSERT_EQ(outcome.errors.size(), 2u);
  EXPECT_EQ(outcome.errors[0].code, ErrorCode::timed_out);
  EXPECT_EQ(outcome.errors[1].code, ErrorCode::unavailable);
  EXPECT_TRUE(outcome.errors[1].transient);  // else every event would be a dead letter
}

TEST_F(PubsubPublisher, FindsTheOneThatIsAtFaultAmongMany) {
  TopicPublisher publisher(context, "projects/p/topics/t");
  Outcome outcome;
  for (const char* body : {"a", "bad", "c"}) publisher.publish({"", body, {}, {}}, outcome.done());
  executor.run_ready();
  transport.publishes[0].done(std::unexpected(Failure{Status::invalid_argument, ""}));
  for (std::size_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(transport.publishes.size(), i + 1);
    ASSERT_EQ(transport.publishes[i].bodies.size(), 1u);
    const bool bad = transport.publishes[i].bodies[0] == "bad";
    transport.publishes[i].done(
        bad ? Answer<std::vector<std::string>>(std::unexpected(Failure{Status::invalid_argument, "bad"}))
            : std::vector<std::string>{"1"});
  }
  EXPECT_EQ(outcome.ok, 2);
  ASSERT_EQ(outcome.errors.size(), 1u);
  EXPECT_EQ(outcome.errors[0].code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace dripgate::broker::pubsub
