// What every topic does: order, identity, flow control, lapses, pauses, restarts.
#include <set>

#include <gtest/gtest.h>

#include "broker_world.h"

namespace dripgate::testing {
namespace {

using broker::Delivery;
using broker::Message;

class BrokerTopics : public ::testing::TestWithParam<BrokerBackend> {
 protected:
  void publish(const std::string& topic, Message what) {
    bool done = false;
    const auto publisher = world_->publisher(topic);
    publisher->publish(std::move(what), [&](Result<void> result) { done = result.has_value(); });
    world_->run_ready();
    ASSERT_TRUE(done);
  }
  void publish_ids(const std::string& topic, int from, int to) {
    for (int i = from; i < to; ++i) publish(topic, message("m" + std::to_string(i), "body"));
  }
  void start(broker::FlowControl flow = {}, const std::string& topic = "payouts") {
    source_ = world_->source(topic);
    source_->start(flow, [this](Delivery delivery) { got_.push_back(std::move(delivery)); });
    world_->run_ready();
  }
  void ack(std::uint64_t token) {
    bool done = false;
    source_->ack(token, [&](Result<void> result) { done = result.has_value(); });
    world_->run_ready();
    ASSERT_TRUE(done);
  }
  void restart() {
    source_.reset();
    got_.clear();
    world_->restart();
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    for (const Delivery& delivery : got_) ids.push_back(delivery.message.id);
    return ids;
  }

  std::unique_ptr<BrokerWorld> world_ = GetParam().make();
  std::unique_ptr<broker::EventSource> source_;
  std::vector<Delivery> got_;
};

using Ids = std::vector<std::string>;

TEST_P(BrokerTopics, DeliverInOrderWhateverCameFirst) {
  publish_ids("payouts", 0, 3);
  start();
  publish_ids("payouts", 3, 5);
  EXPECT_EQ(ids(), (Ids{"m0", "m1", "m2", "m3", "m4"}));
}

TEST_P(BrokerTopics, KeepEveryByte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  const broker::Attributes attributes{{"", ""}, {"name", bytes}, {std::string("a\0b", 3), "x"}};
  publish("payouts", message("a", bytes, attributes));
  publish("payouts", message("b", "", {}));
  publish("payouts", message("c", std::string(300'000, 'x'), {}));
  restart();
  start();
  ASSERT_EQ(got_.size(), 3u);
  EXPECT_EQ(got_[0].message.body, bytes);
  EXPECT_EQ(got_[0].message.attributes, attributes);
  EXPECT_EQ(got_[1].message.body, "");
  EXPECT_TRUE(got_[1].message.attributes.empty());
  EXPECT_EQ(got_[2].message.body, std::string(300'000, 'x'));
}

TEST_P(BrokerTopics, StampWhenTheyFirstTookAMessage) {
  world_->run_for(5s);
  publish("payouts", message("a"));
  world_->run_for(5s);
  publish("payouts", message("a"));
  start();
  ASSERT_EQ(got_.size(), 1u);
  EXPECT_EQ(got_[0].message.published, kT0 + 5s);
}

TEST_P(BrokerTopics, TakeTheSameIdOnce) {
  publish("payouts", message("a", "first"));
  publish("payouts", message("a", "second"));
  publish("others", message("a", "other"));
  start();
  ASSERT_EQ(got_.size(), 1u);
  EXPECT_EQ(got_[0].message.body, "first");
}

TEST_P(BrokerTopics, NeverGiveAnIdTwice) {
  std::set<std::string> seen;
  for (int round = 0; round < 3; ++round) {
    publish("payouts", message("", "x"));
    publish("payouts", message("", "x"));
    start();
    ASSERT_EQ(got_.size(), 2u);
    for (const Delivery& delivery : std::vector(got_)) {
      EXPECT_TRUE(seen.insert(delivery.message.id).second) << delivery.message.id;
      ack(delivery.token);
    }
    restart();
  }
}

TEST_P(BrokerTopics, CallNobodyInsideAPublish) {
  start();
  bool inside = false;
  const auto publisher = world_->publisher("payouts");
  publisher->publish(message("a"), [](Result<void>) {});
  inside = !got_.empty();
  world_->run_ready();
  EXPECT_FALSE(inside);
  EXPECT_EQ(got_.size(), 1u);
}

TEST_P(BrokerTopics, HandOutNoMoreThanAllowed) {
  publish_ids("payouts", 0, 10);
  start({.max_outstanding_messages = 3});
  EXPECT_EQ(ids(), (Ids{"m0", "m1", "m2"}));
  ack(got_[1].token);
  EXPECT_EQ(ids(), (Ids{"m0", "m1", "m2", "m3"}));
  source_->lapse(got_[0].token);
  world_->run_ready();
  EXPECT_EQ(ids(), (Ids{"m0", "m1", "m2", "m3", "m4"}));
}

TEST_P(BrokerTopics, HandOutNoMoreBytesThanAllowedButAlwaysOne) {
  for (const int size : {40, 40, 40, 500, 40}) {
    publish("payouts", message("m" + std::to_string(world_->executor.elapsed().count()),
                               std::string(static_cast<std::size_t>(size), 'x')));
    world_->run_for(1us);
  }
  start({.max_outstanding_messages = 100, .max_outstanding_bytes = 100});
  EXPECT_EQ(got_.size(), 2u);
  ack(got_[0].token);
  EXPECT_EQ(got_.size(), 3u);
  ack(got_[1].token);
  EXPECT_EQ(got_.size(), 3u);
  ack(got_[2].token);
  ASSERT_EQ(got_.size(), 4u);
  EXPECT_EQ(got_[3].message.body.size(), 500u);
  ack(got_[3].token);
  EXPECT_EQ(got_.size(), 5u);
}

TEST_P(BrokerTopics, BringALapsedMessageAgainLaterAndLater) {
  publish_ids("payouts", 0, 1);
  start();
  Duration last{0};
  for (int lapses = 1; lapses <= 10; ++lapses) {
    ASSERT_EQ(got_.size(), static_cast<std::size_t>(lapses));
    EXPECT_EQ(got_.back().redeliveries, lapses - 1);
    const Duration before = world_->executor.elapsed();
    source_->lapse(got_.back().token);
    world_->run_ready();
    ASSERT_EQ(got_.size(), static_cast<std::size_t>(lapses)) << "an immediate nack";
    while (got_.size() == static_cast<std::size_t>(lapses) && world_->executor.elapsed() - before < 10min) {
      world_->run_for(100ms);
    }
    const Duration waited = world_->executor.elapsed() - before;
    EXPECT_GE(waited, last);
    EXPECT_LE(waited, 60s + 100ms);
    last = waited;
  }
  EXPECT_GE(last, 10s);
}

TEST_P(BrokerTopics, LetOthersPassALapsedMessage) {
  publish_ids("payouts", 0, 1);
  start();
  source_->lapse(got_[0].token);
  publish_ids("payouts", 1, 3);
  EXPECT_EQ(ids(), (Ids{"m0", "m1", "m2"}));
}

TEST_P(BrokerTopics, TakeAnAckThatComesAfterTheLapse) {
  publish_ids("payouts", 0, 1);
  start();
  source_->lapse(got_[0].token);
  ack(got_[0].token);
  world_->run_for(10min);
  EXPECT_EQ(got_.size(), 1u);
  restart();
  start();
  EXPECT_TRUE(got_.empty());
}

TEST_P(BrokerTopics, ForgetWhatIsAckedAndBringBackTheRestAfterAKill) {
  publish_ids("payouts", 0, 5);
  start();
  ack(got_[1].token);
  ack(got_[3].token);
  restart();
  start();
  EXPECT_EQ(ids(), (Ids{"m0", "m2", "m4"}));
  EXPECT_EQ(got_[0].redeliveries, world_->tells_who_had_it() ? 1 : 0);
}

TEST_P(BrokerTopics, PauseBetweenAnyTwoMessages) {
  publish_ids("payouts", 0, 5);
  source_ = world_->source("payouts");
  source_->start({}, [this](Delivery delivery) {
    got_.push_back(std::move(delivery));
    if (got_.size() == 2) source_->pause();
  });
  world_->run_for(1min);
  EXPECT_EQ(ids(), (Ids{"m0", "m1"}));
  ack(got_[0].token);
  publish_ids("payouts", 5, 6);
  EXPECT_EQ(got_.size(), 2u);
  source_->resume();
  world_->run_ready();
  EXPECT_EQ(ids(), (Ids{"m0", "m1", "m2", "m3", "m4", "m5"}));
}

TEST_P(BrokerTopics, AllowTheHandlerToAckAndToEndTheSource) {
  publish_ids("payouts", 0, 5);
  source_ = world_->source("payouts");
  std::set<std::string> confirmed;
  source_->start({.max_outstanding_messages = 1}, [&](Delivery delivery) {
    got_.push_back(std::move(delivery));
    source_->ack(got_.back().token, [&, id = got_.back().message.id](Result<void> done) {
      if (done) confirmed.insert(id);
    });
    if (got_.size() == 3) source_.reset();
  });
  world_->run_for(1min);
  EXPECT_EQ(ids(), (Ids{"m0", "m1", "m2"}));
  EXPECT_TRUE(confirmed.contains("m0") && confirmed.contains("m1"));
  restart();
  start();
  EXPECT_EQ(ids(), confirmed.contains("m2") ? (Ids{"m3", "m4"}) : (Ids{"m2", "m3", "m4"}));
}

TEST_P(BrokerTopics, DeliverALongBacklogOnce) {
  constexpr int kCount = 1500;
  auto publisher = world_->publisher("payouts");
  for (int i = 0; i < kCount; ++i) {
    publisher->publish(message(std::to_string(i), "x"), [](Result<void> done) { ASSERT_TRUE(done); });
  }
  std::vector<std::string> seen;
  source_ = world_->source("payouts");
  source_->start({.max_outstanding_messages = 50}, [&](Delivery delivery) {
    seen.push_back(delivery.message.id);
    world_->executor.post_after(1ms, [this, token = delivery.token] {
      source_->ack(token, [](Result<void> done) { ASSERT_TRUE(done); });
    });
  });
  world_->run_for(1min);
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(kCount));
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], std::to_string(i));
}

INSTANTIATE_TEST_SUITE_P(Backends, BrokerTopics, ::testing::ValuesIn(all_brokers()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace dripgate::testing
