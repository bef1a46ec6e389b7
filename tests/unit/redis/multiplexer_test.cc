// The multiplexer without a socket: the bytes are given by hand.
#include "redis/multiplexer.h"

#include <gtest/gtest.h>

#include "redis/encode.h"

namespace dripgate::redis {
namespace {

constexpr MonoTime kNow{std::chrono::seconds{1000}};
constexpr Duration kTimeout = 5ms;

struct MultiplexerTest : ::testing::Test {
  Multiplexer calls{"n:1", {.in_flight_max = 4, .queued_bytes_max = 100}};
  std::vector<std::pair<std::string, std::string>> answers;  // name of the call, what it got

  static std::string shown(const Outcome& outcome) {
    if (!outcome) return std::string(to_string(outcome.error().error.code));
    if (const auto* number = outcome->integer()) return std::to_string(*number);
    return outcome->text() != nullptr ? *outcome->text() : "other";
  }
  Answered named(const std::string& name) {
    return [this, name](Outcome outcome) { answers.emplace_back(name, shown(outcome)); };
  }
  std::optional<Failure> send(const std::string& name, MonoTime deadline = kNow + kTimeout) {
    Answered done = named(name);
    return calls.send(name + ";", deadline, done);
  }
  std::string output() {
    std::string out = "left from before";
    calls.take_output(out);
    return out;
  }
  using Got = std::vector<std::pair<std::string, std::string>>;
};

TEST_F(MultiplexerTest, WhatQueuesWhileAWriteIsInFlightGoesOutTogether) {
  ASSERT_FALSE(send("a"));
  EXPECT_EQ(output(), "a;");
  ASSERT_FALSE(send("b"));
  ASSERT_FALSE(send("c"));
  EXPECT_EQ(output(), "b;c;");
  EXPECT_EQ(output(), "");
  EXPECT_EQ(calls.in_flight(), 3u);
}

TEST_F(MultiplexerTest, RepliesAnswerTheCallsInOrderWhereverTheBytesAreCut) {
  const std::string replies = "+one\r\n:2\r\n$5\r\nthr\r\n\r\n";
  for (std::size_t cut = 0; cut <= replies.size(); ++cut) {
    answers.clear();
    for (const char* name : {"a", "b", "c"}) ASSERT_FALSE(send(name));
    (void)output();
    ASSERT_TRUE(calls.received(replies.substr(0, cut)));
    ASSERT_TRUE(calls.received(replies.substr(cut)));
    EXPECT_EQ(answers, (Got{{"a", "one"}, {"b", "2"}, {"c", "thr\r\n"}})) << "cut at " << cut;
  }
}

TEST_F(MultiplexerTest, AnErrorReplyIsTheAnswerOfItsCallOnly) {
  for (const char* name : {"a", "b", "c"}) ASSERT_FALSE(send(name));
  (void)output();
  ASSERT_TRUE(calls.received("+fine\r\n-LOADING Redis is loading\r\n:3\r\n"));
  EXPECT_EQ(answers, (Got{{"a", "fine"}, {"b", "unavailable"}, {"c", "3"}}));
}

TEST_F(MultiplexerTest, ALateReplyIsDiscardedAndNeverGivenToAnother) {
  ASSERT_FALSE(send("early"));
  (void)output();
  EXPECT_FALSE(calls.expire(kNow + kTimeout));
  EXPECT_EQ(answers, (Got{{"early", "timed_out"}}));
  ASSERT_FALSE(send("later", kNow + 3 * kTimeout));
  (void)output();
  EXPECT_EQ(calls.in_flight(), 2u);
  ASSERT_TRUE(calls.received("+late reply of early\r\n"));
  EXPECT_EQ(answers.size(), 1u);
  ASSERT_TRUE(calls.received("+reply of later\r\n"));
  EXPECT_EQ(answers.back(), (std::pair<std::string, std::string>{"later", "reply of later"}));
  EXPECT_TRUE(calls.idle());
}

TEST_F(MultiplexerTest, ALateReplyIsOwedOnceItsCallerHasBeenAnsweredAndItIsTheNext) {
  ASSERT_FALSE(send("slow", kNow + 60s));
  ASSERT_FALSE(send("fast"));
  (void)calls.expire(kNow + kTimeout);
  EXPECT_FALSE(calls.owes_late_reply()) << "nothing is sent";
  ASSERT_FALSE(send("fast too"));
  (void)output();
  (void)calls.expire(kNow + kTimeout);
  EXPECT_FALSE(calls.owes_late_reply()) << "the slow one may keep it";
  ASSERT_TRUE(calls.received("+of slow\r\n"));
  EXPECT_TRUE(calls.owes_late_reply());
  ASSERT_TRUE(calls.received("+late\r\n"));
  EXPECT_FALSE(calls.owes_late_reply());
}

TEST_F(MultiplexerTest, ACallWhoseDeadlinePassesUnsentIsNotSentAndDidNotHappen) {
  ASSERT_FALSE(send("sent"));
  (void)output();
  ASSERT_FALSE(send("waits"));
  ASSERT_FALSE(send("patient", kNow + 9 * kTimeout));
  EXPECT_EQ(calls.expire(kNow + kTimeout), kNow + 9 * kTimeout);
  EXPECT_EQ(answers, (Got{{"sent", "timed_out"}, {"waits", "unavailable"}}));
  EXPECT_EQ(output(), "patient;");
  ASSERT_TRUE(calls.received(":1\r\n:2\r\n"));
  EXPECT_EQ(answers.back(), (std::pair<std::string, std::string>{"patient", "2"}));
}

TEST_F(MultiplexerTest, TheEarliestDeadlineIsFoundAmongMixedTimeouts) {
  ASSERT_FALSE(send("slow", kNow + 60s));
  ASSERT_FALSE(send("fast", kNow + 1ms));
  ASSERT_FALSE(send("usual", kNow + 5ms));
  EXPECT_EQ(calls.expire(kNow), kNow + 1ms);
  EXPECT_EQ(calls.expire(kNow + 1ms), kNow + 5ms);
  EXPECT_EQ(calls.expire(kNow + 5ms), kNow + 60s);
  EXPECT_EQ(calls.expire(kNow + 60s), std::nullopt);
}

TEST_F(MultiplexerTest, ALostConnectionLeavesSentCallsInDoubtAndKeepsQueuedOnes) {
  ASSERT_FALSE(send("sent"));
  (void)output();
  ASSERT_TRUE(calls.received("$100\r\nhalf of a rep"));
  ASSERT_FALSE(send("queued"));
  calls.disconnected("the connection broke");
  EXPECT_EQ(answers, (Got{{"sent", "timed_out"}}));
  EXPECT_EQ(output(), "queued;");
  ASSERT_TRUE(calls.received("+whole\r\n"));  // of the new connection: the half reply is forgotten
  EXPECT_EQ(answers.back(), (std::pair<std::string, std::string>{"queued", "whole"}));
}

TEST_F(MultiplexerTest, WithoutAConnectionQueuedCallsFailAndSentOnesStay) {
  ASSERT_FALSE(send("sent"));
  (void)output();
  ASSERT_FALSE(send("queued"));
  calls.fail_queued(unsent(ErrorCode::unavailable, "n:1", "refused"));
  EXPECT_EQ(answers, (Got{{"queued", "unavailable"}}));
  EXPECT_EQ(output(), "");
  EXPECT_EQ(calls.in_flight(), 1u);
}

TEST_F(MultiplexerTest, CallsAndBytesAreBounded) {
  for (int i = 0; i < 4; ++i) ASSERT_FALSE(send("x"));
  (void)calls.expire(kNow + kTimeout);  // late ones still count: Redis has not answered them
  const auto refused = send("one too many");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->error.code, ErrorCode::full);
  EXPECT_EQ(refused->kind, FailureKind::unsent);
  Multiplexer narrow("n:1", {.in_flight_max = 100, .queued_bytes_max = 10});
  Answered done = named("b");
  EXPECT_FALSE(narrow.send("12345678", kNow, done));
  done = named("c");
  ASSERT_TRUE(narrow.send("123", kNow, done));
  EXPECT_TRUE(done) << "a refused call keeps its callback";
}

TEST_F(MultiplexerTest, AReplyNobodyAskedForAndBytesThatAreNotRedisEndTheConnection) {
  EXPECT_EQ(calls.received("+surprise\r\n").error().code, ErrorCode::corrupt);
  calls.disconnected("");
  ASSERT_FALSE(send("a"));
  (void)output();
  EXPECT_EQ(calls.received("HTTP/1.1 400 Bad Request\r\n").error().code, ErrorCode::corrupt);
}

TEST_F(MultiplexerTest, ACallbackMayCallAgainAndMayEndTheConnection) {
  Answered again = [&](Outcome) {
    ASSERT_FALSE(send("inner"));
    calls.disconnected("ended by a callback");
  };
  ASSERT_FALSE(calls.send("outer;", kNow, again));
  ASSERT_FALSE(send("neighbour"));
  (void)output();
  ASSERT_TRUE(calls.received("+1\r\n+2\r\n"));
  EXPECT_EQ(answers, (Got{{"neighbour", "timed_out"}}));
  EXPECT_EQ(output(), "inner;");
}

}  // namespace
}  // namespace dripgate::redis
