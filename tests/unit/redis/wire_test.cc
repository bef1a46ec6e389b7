// What goes over the wire and what the answers mean: commands, replies, error texts, greetings, scripts.
#include <gtest/gtest.h>

#include "redis/call.h"
#include "redis/encode.h"
#include "redis/greeting.h"
#include "redis/reconnect_delay.h"
#include "redis/reply_reader.h"

namespace dripgate::redis {
namespace {

using Two = std::array<std::string_view, 2>;

TEST(RedisWire, ACommandIsAnArrayOfBulkStrings) {
  EXPECT_EQ(encode(Two{"GET", "a\r\nb"}), "*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n");
  EXPECT_EQ(encode(Two{"", ""}), "*2\r\n$0\r\n\r\n$0\r\n\r\n");
}

TEST(RedisWire, EveryKindOfReplyIsRead) {
  ReplyReader reader;
  reader.feed("*5\r\n:-7\r\n$-1\r\n*2\r\n+a\r\n$0\r\n\r\n*0\r\n*-1\r\n");
  Parsed parsed;
  ASSERT_TRUE(reader.next(parsed).value());
  const auto* items = parsed->items();
  ASSERT_NE(items, nullptr);
  ASSERT_EQ(items->size(), 5u);
  EXPECT_EQ(*(*items)[0].integer(), -7);
  EXPECT_TRUE((*items)[1].is_nil());
  EXPECT_EQ(*(*(*items)[2].items())[0].text(), "a");
  EXPECT_EQ(*(*(*items)[2].items())[1].text(), "");
  EXPECT_TRUE((*items)[3].items()->empty());
  EXPECT_TRUE((*items)[4].is_nil());
  EXPECT_FALSE(reader.next(parsed).value());
}

TEST(RedisWire, AnErrorInsideOfAnArrayMakesTheWholeReplyAnError) {
  ReplyReader reader;
  reader.feed("*2\r\n:1\r\n-WRONGTYPE no\r\n+next\r\n");
  Parsed parsed;
  ASSERT_TRUE(reader.next(parsed).value());
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error(), "WRONGTYPE no");
  ASSERT_TRUE(reader.next(parsed).value());
  EXPECT_EQ(*parsed->text(), "next");
}

TEST(RedisWire, AnArrayOfAbsurdLengthIsRefusedBeforeItIsMade) {
  ReplyReader reader;
  reader.feed("*2000000000\r\n:1\r\n");
  Parsed parsed;
  EXPECT_EQ(reader.next(parsed).error().code, ErrorCode::corrupt);
  reader.reset();
  reader.feed(":1\r\n");
  EXPECT_TRUE(reader.next(parsed).value());
}

struct Classified {
  std::string_view text;
  FailureKind kind;
  ErrorCode code;
};

TEST(RedisWire, ErrorTextsMeanWhatTheTableSays) {
  const Classified table[] = {
      {"CROSSSLOT Keys in request don't hash to the same slot", FailureKind::refused,
       ErrorCode::invalid_argument},
      {"TRYAGAIN Multiple keys request during rehashing of slot", FailureKind::try_again,
       ErrorCode::unavailable},
      {"CLUSTERDOWN The cluster is down", FailureKind::down, ErrorCode::unavailable},
      {"LOADING Redis is loading the dataset in memory", FailureKind::down, ErrorCode::unavailable},
      {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
       FailureKind::not_primary, ErrorCode::unavailable},
      {"READONLY You can't write against a read only replica.", FailureKind::not_primary,
       ErrorCode::unavailable},
      {"NOREPLICAS Not enough good replicas to write.", FailureKind::down, ErrorCode::unavailable},
      {"BUSY Redis is busy running a script.", FailureKind::down, ErrorCode::unavailable},
      {"BUSYGROUP Consumer Group name already exists", FailureKind::refused, ErrorCode::conflict},
      {"NOGROUP No such key 's' or consumer group 'g'", FailureKind::refused, ErrorCode::not_found},
      {"OOM command not allowed when used memory > 'maxmemory'.", FailureKind::down, ErrorCode::full},
      {"NOPERM this user has no permissions", FailureKind::refused, ErrorCode::invalid_argument},
      {"WRONGPASS invalid username-password pair", FailureKind::refused, ErrorCode::invalid_argument},
      {"WRONGTYPE Operation against a key", FailureKind::refused, ErrorCode::invalid_argument},
      {"ERR max number of clients reached", FailureKind::down, ErrorCode::unavailable},
      {"ERR limit 0: must be positive script: abc, on @user_script:1.", FailureKind::refused,
       ErrorCode::invalid_argument},
      {"NOSCRIPT No matching script. Please use EVAL.", FailureKind::no_script, ErrorCode::unavailable},
  };
  for (const Classified& row : table) {
    const Failure failure = classify(row.text, "h:1");
    EXPECT_EQ(failure.kind, row.kind) << row.text;
    EXPECT_EQ(failure.error.code, row.code) << row.text;
    const bool mendable =
        std::string_view(row.text).starts_with("NOPERM") || std::string_view(row.text).starts_with("WRONG");
    EXPECT_EQ(failure.error.transient, row.kind != FailureKind::refused || mendable) << row.text;
    EXPECT_EQ(failure.error.detail, "redis h:1: " + std::string(row.text));
  }
}

TEST(RedisWire, RedirectsNameTheirTarget) {
  const Failure moved = classify("MOVED 8943 10.0.0.7:7001", "h:1");
  EXPECT_EQ(moved.kind, FailureKind::moved);
  EXPECT_EQ(moved.target, (Endpoint{"10.0.0.7", 7001}));
  EXPECT_EQ(classify("ASK 8943 fe80::1:7002", "h:1").target, (Endpoint{"fe80::1", 7002}));
  EXPECT_EQ(classify("MOVED 1 :7003", "h:1").target, (Endpoint{"", 7003}));
  EXPECT_EQ(classify("MOVED 1 nonsense", "h:1").kind, FailureKind::down);
}

TEST(RedisWire, AScriptUnknownToTheNodeGoesAgainWithItsText) {
  const Script script("return 1");
  CallPtr call = script_call(script, Two{"k1", "k2"}, std::array<std::string_view, 1>{"x"}, {}, {});
  const std::string tail = "$1\r\n2\r\n$2\r\nk1\r\n$2\r\nk2\r\n$1\r\nx\r\n";
  EXPECT_EQ(call->wire, "*6\r\n$7\r\nEVALSHA\r\n$40\r\n" + std::string(script.sha1()) + "\r\n" + tail);
  call->become_eval();
  EXPECT_EQ(call->wire, "*6\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n" + tail);
  EXPECT_TRUE(call->script_text.empty());
}

TEST(RedisWire, AGreetingSaysWhoAndWhereAndTakesARefusedName) {
  Greeting greeting({.user = "me", .password = "pw", .name = "app", .database = 3, .primary_only = true});
  EXPECT_EQ(
      greeting.wire(),
      "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$2\r\npw\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*1\r\n$4\r\nROLE\r\n"
      "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$3\r\napp\r\n");
  EXPECT_FALSE(greeting.received("+OK\r\n+OK\r\n*3\r\n$6\r\nmas", "h:1").value());
  EXPECT_FALSE(greeting.received("ter\r\n:0\r\n*0\r\n", "h:1").value());
  EXPECT_TRUE(greeting.received("-NOPERM no client commands\r\n", "h:1").value());
}

TEST(RedisWire, AGreetingFailsOnAWrongPasswordAReplicaOrAServerThatWantsOne) {
  Greeting wrong({.password = "pw"});
  const auto refused = wrong.received("-WRONGPASS invalid\r\n", "h:1");
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(refused.error().detail, "redis h:1: WRONGPASS invalid");
  Greeting replica({.primary_only = true});
  EXPECT_EQ(replica.received("*2\r\n$5\r\nslave\r\n$1\r\nh\r\n", "h:1").error().code, ErrorCode::unavailable);
  Greeting unknown({});
  EXPECT_EQ(unknown.received("-NOAUTH Authentication required.\r\n", "h:1").error().code,
            ErrorCode::invalid_argument);
}

TEST(RedisWire, ReconnectDelaysDoubleWithinTheirBoundsAndDiffer) {
  ReconnectDelay one(1), other(2);
  Duration step = kReconnectMin;
  bool differ = false;
  for (int i = 0; i < 12; ++i) {
    const Duration delay = one.next();
    EXPECT_GE(delay, step / 2);
    EXPECT_LE(delay, step);
    differ = differ || delay != other.next();
    step = std::min(step * 2, kReconnectMax);
  }
  EXPECT_EQ(step, kReconnectMax);
  EXPECT_TRUE(differ);
  one.reset();
  EXPECT_LE(one.next(), kReconnectMin);
}

}  // namespace
}  // namespace dripgate::redis
