// Dead letters on Pub/Sub: what its topic cannot take is kept all the same.
#include <vector>

#include <gtest/gtest.h>

#include "broker/pubsub/dead_letter_topic.h"
#include "broker/pubsub/message_codec.h"
#include "support/virtual_time.h"

namespace dripgate::broker::pubsub {
namespace {

struct Topic {
  std::vector<Message> published;
  std::optional<Error> away;
};

/// Takes what the codec takes, as the topic's own adapter.
class HandTopic final : public Publisher {
 public:
  explicit HandTopic(Topic& topic) : topic_(topic) {}
  void publish(Message message, Done<void> done) override {
    if (topic_.away) return done(std::unexpected(*topic_.away));
    auto wire = to_wire(std::move(message));
    if (!wire) return done(std::unexpected(std::move(wire).error()));
    topic_.published.push_back(from_wire(*std::move(wire)));
    done({});
  }

 private:
  Topic& topic_;
};

class HandLetters final : public DeadLetters {
 public:
  explicit HandLetters(std::vector<DeadLetter>& letters) : letters_(letters) {}
  void add(DeadLetter letter, Done<void> done) override {
    letters_.push_back(std::move(letter));
    done({});
  }
  void list(std::uint64_t, std::size_t, Done<DeadLetterPage>) override {}
  void find(std::uint64_t, Done<std::optional<DeadLetter>>) override {}
  void remove(std::uint64_t, Done<bool>) override {}
  void purge(WallTime, Done<std::uint64_t>) override {}

 private:
  std::vector<DeadLetter>& letters_;
};

class PubsubLetters : public ::testing::Test {
 protected:
  static DeadLetter letter(std::string body, Attributes attributes = {}) {
    return {
        .event_id = "pay_1",
        .key = "m1",
        .reason = "overflow_refused",
        .detail = "why",
        .message = {.id = "m", .body = std::move(body), .attributes = std::move(attributes), .published = {}},
        .first_received = testing::kT0,
        .dead_at = testing::kT0};
  }
  Result<void> add(const DeadLetter& dead) {
    Result<void> answer = fail(ErrorCode::timed_out, "no answer");
    letters.add(dead, [&](Result<void> got) { answer = std::move(got); });
    return answer;
  }

  Topic topic;
  std::vector<DeadLetter> kept;
  DeadLetterTopic letters{std::make_unique<HandLetters>(kept), std::make_unique<HandTopic>(topic)};
};

TEST_F(PubsubLetters, ArePublishedAndKept) {
  ASSERT_TRUE(add(letter("{}", {{"Note", "n"}})));
  ASSERT_EQ(topic.published.size(), 1u);
  EXPECT_EQ(topic.published[0].body, "{}");
  EXPECT_EQ(*find(topic.published[0].attributes, kReasonAttribute), "overflow_refused");
  EXPECT_EQ(kept.size(), 1u);
}

// Pub/Sub gives us messages that it does not take back with our attributes: such an event must not hold up
// its stream for ever.
TEST_F(PubsubLetters, TooLargeForTheTopicTheyAreToldThereAndKeptWhole) {
  const std::string large(kMessageBytesMax, 'x');
  ASSERT_TRUE(add(letter(large)));
  Attributes many;
  for (int i = 0; i < 100; ++i) many.emplace_back("name" + std::to_string(i), std::string(1000, 'v'));
  ASSERT_TRUE(add(letter("{}", many)));
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].message.body, large);
  EXPECT_EQ(kept[1].message.attributes, many);
  ASSERT_EQ(topic.published.size(), 2u);
  for (const Message& told : topic.published) {
    EXPECT_TRUE(told.body.empty());
    EXPECT_EQ(*find(told.attributes, kIdAttribute), "pay_1");
    EXPECT_EQ(*find(told.attributes, kReasonAttribute), "overflow_refused");
    EXPECT_EQ(*find(told.attributes, kCutAttribute), "true");
  }
}

TEST_F(PubsubLetters, OfATopicThatIsAwayAreNotKeptEither) {
  topic.away = Error{ErrorCode::unavailable, true, "away"};
  EXPECT_FALSE(add(letter("{}")));
  EXPECT_TRUE(kept.empty());
}

}  // namespace
}  // namespace dripgate::broker::pubsub
