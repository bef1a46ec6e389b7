// What a subscription and a topic do as ports of the drip, on every Pub/Sub there is here; and what they do
// when the service does wrong, on the fake.
#include <algorithm>

#include "integration_pubsub/site.h"

namespace dripgate::integration {
namespace {

using broker::Delivery;
using broker::Message;

struct Backend {
  std::string name;
  MakeServer make;
};

std::vector<Message> numbered(int count) {
  std::vector<Message> messages;
  for (int i = 0; i < count; ++i) messages.push_back({"id-" + std::to_string(i), std::to_string(i), {}, {}});
  return messages;
}

class PubsubPorts : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    std::string why;
    server_ = GetParam().make(why);
    if (server_ == nullptr) GTEST_SKIP() << why;
    side_ = std::make_unique<Side>(*server_);
    static int number = 0;
    topic_ = "topic-" + std::to_string(++number);
    const Result<void> made = side_->make(topic_, topic_);
    ASSERT_TRUE(made) << made.error().detail;
  }

  std::unique_ptr<Server> server_;
  std::unique_ptr<Side> side_;
  std::string topic_;
};

TEST_P(PubsubPorts, KeepEveryByteAndForgetWhatIsAcked) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  const broker::Attributes attributes{{"goog-ordering-key", "k"}, {"name", bytes}, {"plain", "x"}};
  side_->publish(
      topic_, {{"a", bytes, attributes, {}}, {"", "b", {}, {}}, {"c", std::string(1'000'000, 'x'), {}, {}}});
  {
    Taker taker(*side_, topic_);
    ASSERT_TRUE(eventually([&] { return taker.acked().size() == 3; }));
    std::map<std::string, Message> by_body;
    for (const Delivery& delivery : taker.got()) by_body[delivery.message.body] = delivery.message;
    EXPECT_EQ(by_body[bytes].id, "a");
    broker::Attributes got = by_body[bytes].attributes;
    std::ranges::sort(got);
    EXPECT_EQ(got, attributes);
    EXPECT_FALSE(by_body["b"].id.empty());
    EXPECT_EQ(by_body[std::string(1'000'000, 'x')].id, "c");
  }
  side_->publish(topic_, {{"last", "last", {}, {}}});
  Taker again(*side_, topic_);
  ASSERT_TRUE(eventually([&] { return again.acked().contains("last"); }));
  EXPECT_EQ(again.got().size(), 1u);
}

TEST_P(PubsubPorts, HandOutNoMoreThanAllowedAndLoseNothingOfABurst) {
  const int kCount = server_->burst();
  constexpr std::size_t kOut = 100;
  side_->publish(topic_, numbered(kCount));
  // Settled a moment later, so that what is out piles up as far as it may.
  Taker taker(
      *side_, topic_, {.max_outstanding_messages = kOut},
      [this](Taker& self, Delivery& delivery) {
        side_->loop.post_after(20ms, [&self, token = delivery.token] { self.ack(token); });
      },
      2);
  ASSERT_TRUE(eventually([&] { return taker.acked().size() == static_cast<std::size_t>(kCount); }))
      << taker.acked().size();
  EXPECT_EQ(taker.got().size(), static_cast<std::size_t>(kCount));
  EXPECT_LE(taker.out_max(), kOut);
}

TEST_P(PubsubPorts, BringALapsedMessageAgainLaterAndTellSo) {
  side_->publish(topic_, numbered(1));
  std::atomic<WallTime> lapsed{WallTime{}};
  Taker taker(*side_, topic_, {}, [&](Taker& self, Delivery& delivery) {
    if (delivery.redeliveries > 0) return self.ack(delivery.token);
    lapsed = side_->clock.now();
    self.lapse(delivery.token);
  });
  ASSERT_TRUE(eventually([&] { return taker.acked().size() == 1; }));
  EXPECT_GE(side_->clock.now() - lapsed.load(), 900ms);
  ASSERT_EQ(taker.got().size(), 2u);
  EXPECT_EQ(taker.got()[1].redeliveries, 1);
  EXPECT_EQ(taker.got()[0].message.id, taker.got()[1].message.id);
}

TEST_P(PubsubPorts, KeepALeaseOverHandlingThatTakesLongerThanIt) {
  side_->publish(topic_, numbered(20));
  // On a real clock: just over one lease.
  const Duration handling = server_->scale() > 1 ? Duration{30s} : Duration{12s};
  Taker taker(*side_, topic_, {}, [&](Taker& self, Delivery& delivery) {
    side_->loop.post_after(handling, [&self, token = delivery.token] { self.ack(token); });
  });
  ASSERT_TRUE(eventually([&] { return taker.acked().size() == 20; }));
  EXPECT_EQ(taker.got().size(), 20u);
  if (auto* fake = server_->fake()) EXPECT_EQ(fake->counts().expired, 0);
}

TEST_P(PubsubPorts, OfExactlyOnceDeliveryGiveEachMessageOnceOverSeveralStreams) {
  constexpr int kCount = 250;
  ASSERT_TRUE(side_->make_exactly_once("once-" + topic_, "once-" + topic_));
  side_->publish("once-" + topic_, numbered(kCount));
  Taker taker(*side_, "once-" + topic_, {.max_outstanding_messages = 50}, {}, 3);
  ASSERT_TRUE(eventually([&] { return taker.acked().size() == kCount; })) << taker.acked().size();
  side_->publish("once-" + topic_, {{"last", "last", {}, {}}});
  ASSERT_TRUE(eventually([&] { return taker.acked().contains("last"); }));
  EXPECT_EQ(taker.got().size(), kCount + 1u) << "every ack was heard";
}

TEST_P(PubsubPorts, AreLookedAtBeforeTheFirstPull) {
  pubsub::StreamPlaces places{.stream = "payouts",
                              .source = pubsub::subscription_name(kProject, topic_),
                              .overflow_topic = pubsub::topic_name(kProject, "nowhere-" + topic_),
                              .overflow_subscription = {},
                              .dead_letter_topic = {},
                              .deliver_topic = {}};
  const auto missing = pubsub::check_places(*side_->admin, {&places, 1}, false);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().detail.find("there is no projects/test-project/topics/nowhere-"),
            std::string::npos)
      << missing.error().detail;
  places.overflow_topic = pubsub::topic_name(kProject, topic_);
  const auto circle = pubsub::check_places(*side_->admin, {&places, 1}, false);
  ASSERT_FALSE(circle);
  EXPECT_NE(circle.error().detail.find("the stream itself publishes"), std::string::npos);
  places.overflow_topic = pubsub::topic_name(kProject, "made-" + topic_);
  EXPECT_TRUE(pubsub::check_places(*side_->admin, {&places, 1}, true));
  const auto fine = pubsub::check_places(*side_->admin, {&places, 1}, false);
  ASSERT_TRUE(fine) << fine.error().detail;
  EXPECT_TRUE(fine->empty()) << fine->front();
}

INSTANTIATE_TEST_SUITE_P(Servers, PubsubPorts,
                         ::testing::Values(Backend{"Fake", make_fake}, Backend{"Emulator", make_emulator},
                                           Backend{"Pstest", make_pstest}),
                         [](const auto& backend) { return backend.param.name; });

class PubsubTrouble : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    server_ = make_fake(why);
    side_ = std::make_unique<Side>(*server_);
    const Result<void> made = side_->make("topic", "topic");
    ASSERT_TRUE(made) << made.error().detail;
  }
  testing::PubsubFake& fake() { return *server_->fake(); }

  std::unique_ptr<Server> server_;
  std::unique_ptr<Side> side_;
};

TEST_F(PubsubTrouble, LosesNothingWhateverTheServiceDoes) {
  constexpr int kCount = 2000;
  fake().set({.twice_every = 7, .stream_messages = 150, .ignore_flow = true});
  side_->publish("topic", numbered(kCount));
  Taker taker(*side_, "topic", {.max_outstanding_messages = 200}, {}, 3);
  ASSERT_TRUE(eventually([&] { return taker.acked().size() > kCount / 4; }));
  fake().set({.lose_replies = 5, .method = "Acknowledge", .twice_every = 7, .stream_messages = 150});
  ASSERT_TRUE(eventually([&] { return taker.acked().size() > kCount / 2; }));
  fake().restart();
  fake().set({.refuse = 8, .refuse_calls = 5, .method = "Acknowledge", .twice_every = 7});
  ASSERT_TRUE(eventually([&] { return taker.acked().size() == kCount; })) << taker.acked().size();
  EXPECT_TRUE(eventually([&] { return fake().counts().acked == kCount; })) << fake().counts().acked;
  EXPECT_GT(fake().counts().streams, 5);
  EXPECT_LE(taker.out_max(), 200u);
}

TEST_F(PubsubTrouble, PublishesAgainWhatWasRefusedForNowAndTheSameIdTellsWhatCameTwice) {
  fake().set({.refuse = 8, .refuse_calls = 1, .lose_replies = 1, .method = "Publish"});
  side_->publish("topic", numbered(50));
  EXPECT_GT(fake().counts().published, 50);
  Taker taker(*side_, "topic");
  ASSERT_TRUE(eventually([&] { return fake().counts().acked == fake().counts().published; }));
  std::set<std::string> ids;
  for (const Delivery& delivery : taker.got()) ids.insert(delivery.message.id);
  EXPECT_EQ(ids.size(), 50u);
  EXPECT_GT(taker.got().size(), 50u);
}

TEST_F(PubsubTrouble, SendsFewLargeRequestsForMany) {
  side_->publish("topic", numbered(5000));
  EXPECT_LE(fake().counts().largest_publish, 1000);
  EXPECT_GE(fake().counts().largest_publish, 500);
  Taker taker(*side_, "topic");
  ASSERT_TRUE(eventually([&] { return taker.acked().size() == 5000; }));
  EXPECT_LE(fake().counts().largest_ack, 2500);
  EXPECT_LE(fake().counts().most_outstanding, 1000);
  EXPECT_EQ(fake().counts().expired, 0);
}

// An ack that fails for now is sent again; one whose lease is over says so, and the message is another's.
TEST_F(PubsubTrouble, TheAnswerOfAnExactlyOnceAckIsWhatCounts) {
  ASSERT_TRUE(side_->make_exactly_once("once", "once"));
  fake().set({.transient_acks = 20});
  side_->publish("once", numbered(100));
  {
    Taker taker(*side_, "once", {}, {}, 2);
    // By the server's count: an id that a failed call does not name is told as failed, acked or not.
    ASSERT_TRUE(eventually([&] { return fake().counts().acked == 100; })) << fake().counts().acked;
    EXPECT_EQ(taker.got().size(), 100u) << "sent again in time: nothing came twice";
    EXPECT_TRUE(eventually([&] { return taker.acked().size() >= 20; })) << taker.acked().size();
  }
  side_->publish("once", {{"x", "x", {}, {}}});
  std::atomic<std::uint64_t> held{0};
  Taker first(*side_, "once", {}, [&](Taker&, Delivery& delivery) { held = delivery.token; });
  ASSERT_TRUE(eventually([&] { return held != 0; }));
  // Its lease runs out, unheard; the stream is closed, so that somebody else gets the message.
  const auto expired = fake().counts().expired;
  first.pause(true);
  fake().set({.refuse = 14, .refuse_calls = 1'000'000, .method = "ModifyAckDeadline"});
  Side other(*server_, "other");
  std::atomic<std::uint64_t> again{0};
  Taker second(other, "once", {}, [&](Taker&, Delivery& delivery) { again = delivery.token; });
  ASSERT_TRUE(eventually([&] { return fake().counts().expired > expired; }));
  fake().set({});
  ASSERT_TRUE(eventually([&] { return again != 0; }));
  std::atomic<int> refused{0};
  side_->run([&] { first.ack(held, [&](const Result<void>& done) { refused += done ? 0 : 1; }); });
  ASSERT_TRUE(eventually([&] { return refused == 1; })) << "an ack that was too late is told";
  other.run([&] { second.ack(again); });
  ASSERT_TRUE(eventually([&] { return second.acked().contains("x"); }));
  EXPECT_EQ(fake().counts().acked, 101);
}

// On the fake alone: Google's emulator goes on delivering to a stream that was cancelled.
TEST_F(PubsubTrouble, LeavesTheEventsToOthersWhilePaused) {
  std::atomic<int> handed{0};
  Taker taker(*side_, "topic", {}, [&](Taker& self, Delivery& delivery) {
    ++handed;
    self.ack(delivery.token);
  });
  side_->publish("topic", numbered(1));
  ASSERT_TRUE(eventually([&] { return handed == 1; }));
  taker.pause(true);
  side_->publish("topic", {{"x", "x", {}, {}}});
  {
    Side other(*server_, "other");
    Taker second(other, "topic");
    ASSERT_TRUE(eventually([&] { return second.acked().contains("x"); }));
  }
  EXPECT_EQ(handed, 1);
  side_->publish("topic", {{"y", "y", {}, {}}});
  taker.pause(false);
  ASSERT_TRUE(eventually([&] { return handed == 2; }));
}

TEST_F(PubsubTrouble, SaysWhereItMayNotPull) {
  Side side(*server_, "two");
  std::mutex mutex;
  std::string said;
  auto connection = pubsub::connect({.target = server_->endpoint(), .plaintext = true}, {}, side.loop);
  ASSERT_TRUE(connection);
  side.run([&] {
    side.broker = std::make_unique<pubsub::Broker>(
        std::move(connection->transport), side.loop, side.clock,
        pubsub::Options{
            .project = kProject, .instance = "two", .trouble = [&](const std::string&, const Error& error) {
              const std::scoped_lock lock(mutex);
              said = error.detail;
            }});
  });
  Taker taker(side, "nowhere");
  EXPECT_TRUE(eventually([&] {
    const std::scoped_lock lock(mutex);
    return said.find("pull from projects/test-project/subscriptions/nowhere: NOT_FOUND") != std::string::npos;
  })) << said;
}

}  // namespace
}  // namespace dripgate::integration
