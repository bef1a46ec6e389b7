// The parts of the broker on Redis that need no server: a timer entry's bytes, and what is in whose hands.
#include <gtest/gtest.h>

#include "broker/redis_streams/entry_codec.h"
#include "broker/redis_streams/holdings.h"
#include "broker/redis_streams/letter_fields.h"
#include "broker/redis_streams/replies.h"

namespace dripgate::broker::redis_streams {
namespace {

TimerEntry entry() {
  return {.id = "id",
          .due = from_us(1'800'000'000'123'457),
          .message = {.id = "m",
                      .body = std::string("\0\xff body", 7),
                      .attributes = {{"", ""}, {"name", std::string(300, 'v')}},
                      .published = from_us(-5)}};
}

TEST(RedisEntryCodec, GivesBackWhatItTook) {
  const auto back = decode_entry("id", encode_entry(entry()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->due, entry().due);
  EXPECT_EQ(back->message.id, "m");
  EXPECT_EQ(back->message.body, entry().message.body);
  EXPECT_EQ(back->message.attributes, entry().message.attributes);
  EXPECT_EQ(back->message.published, from_us(-5));
}

TEST(RedisEntryCodec, RefusesWhatItDidNotWrite) {
  const std::string bytes = encode_entry(entry());
  const std::size_t body = entry().message.body.size();
  for (std::size_t size = 0; size < bytes.size() - body; ++size)
    EXPECT_FALSE(decode_entry("id", std::string_view(bytes).substr(0, size))) << size;
  EXPECT_FALSE(decode_entry("id", "2" + bytes.substr(1)));
}

TEST(RedisReplies, ANumberThatIsNoTimeIsNone) {
  EXPECT_EQ(time_of("1800000000123-7"), WallTime{std::chrono::milliseconds{1'800'000'000'123}});
  for (const char* odd : {"9223372036854775807-0", "-5-1", "x", ""})
    EXPECT_EQ(time_of(odd), WallTime{}) << odd;
  const auto time = [](const char* seconds, const char* us) {
    return time_at({std::vector<redis::Reply>{{std::string(seconds)}, {std::string(us)}}}, 0);
  };
  EXPECT_EQ(time("1800000000", "123456"), 1'800'000'000'123'456);
  EXPECT_EQ(time("9223372036854775807", "9223372036854775807"), 0);
}

TEST(RedisLetterFields, OneNamePerEventGenerationAndBody) {
  const auto name = [](const std::string& event_id, std::uint32_t generation, const std::string& body) {
    DeadLetter letter;
    letter.event_id = event_id;
    letter.generation = generation;
    letter.message.body = body;
    return letter_words(letter).front();
  };
  EXPECT_EQ(name("e", 1, "b"), name("e", 1, "b"));
  EXPECT_NE(name("e", 1, "b"), name("e", 2, "b"));
  EXPECT_NE(name("e", 1, "b"), name("eb", 1, ""));
  EXPECT_NE(name("e", 1, "b"), name("e", 1, "c"));
}

TEST(RedisHoldings, LeasesAreKeptFromTheSecondRoundToTheDeadline) {
  Holdings holdings(2);
  const std::uint64_t token = holdings.take(1, "5-0", 0);
  EXPECT_TRUE(holdings.holds(1, "5-0"));
  EXPECT_FALSE(holdings.holds(0, "5-0"));
  EXPECT_TRUE(holdings.age(3).keep[1].empty());
  EXPECT_EQ(holdings.age(3).keep[1].size(), 1u);
  EXPECT_EQ(holdings.age(3).keep[1].size(), 1u);
  const Holdings::Round last = holdings.age(3);
  EXPECT_TRUE(last.keep[1].empty());
  ASSERT_EQ(last.expired.size(), 1u);
  EXPECT_FALSE(holdings.holds(1, "5-0"));
  ASSERT_NE(holdings.find(token), nullptr) << "a late ack still finds it";
  EXPECT_EQ(holdings.find(token)->id, "5-0");
}

TEST(RedisHoldings, RenewedOnesBeginAgainAndDroppedOnesAreGone) {
  Holdings holdings(1);
  const std::uint64_t token = holdings.take(0, "5-0", 1);
  (void)holdings.age(2);
  (void)holdings.age(2);
  holdings.renew(token);
  EXPECT_TRUE(holdings.age(2).expired.empty());
  holdings.drop(token);
  EXPECT_EQ(holdings.find(token), nullptr);
  EXPECT_FALSE(holdings.holds(0, "5-0"));
}

TEST(RedisHoldings, ExpiredOnesAreBounded) {
  Holdings holdings(1);
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < kExpiredMax + 1; ++i) {
    const std::uint64_t token = holdings.take(0, std::to_string(i), 0);
    if (i == 0) first = token;
    (void)holdings.age(0);
  }
  EXPECT_EQ(holdings.find(first), nullptr);
  EXPECT_NE(holdings.find(first + kExpiredMax), nullptr);
}

}  // namespace
}  // namespace dripgate::broker::redis_streams
