// One real server: replies, pipelining, scripts, deadlines, reconnects, users.
#include <algorithm>

#include <gtest/gtest.h>

#include "integration_redis/asker.h"
#include "support/redis/redis_server.h"

namespace dripgate::redis::testing {
namespace {

using dripgate::testing::RedisServer;

Options at(const RedisServer& redis, Duration timeout = kUnhurried) {
  return {.nodes = {local(redis.port())}, .timeout = timeout};
}

TEST(RedisSingle, CommandsAnswerWithTheirReplies) {
  RedisServer redis;
  Asker asker(at(redis));
  EXPECT_EQ(shown(asker.ask({"SET", "k", "v"})), "OK");
  EXPECT_EQ(shown(asker.ask({"GET", "k"})), "v");
  EXPECT_EQ(shown(asker.ask({"GET", "none"})), "(nil)");
  EXPECT_EQ(shown(asker.ask({"INCRBY", "n", "41"})), "41");
  EXPECT_EQ(asker.client->shards(), 1u);
  EXPECT_EQ(asker.client->shard("any"), 0u);
  const std::string big(1 << 20, 'x');
  EXPECT_EQ(shown(asker.ask({"SET", "big", big})), "OK");
  EXPECT_EQ(shown(asker.ask({"GET", "big"})), big);
}

TEST(RedisSingle, ErrorRepliesAreErrorsThatNameTheNode) {
  RedisServer redis;
  Asker asker(at(redis));
  ASSERT_EQ(shown(asker.ask({"SET", "k", "v"})), "OK");
  const auto wrong = asker.ask({"LPUSH", "k", "x"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(wrong.error().detail, "redis " + redis.address() +
                                      ": WRONGTYPE Operation against a key holding the wrong kind of value");
  ASSERT_EQ(shown(asker.ask({"XGROUP", "CREATE", "s", "g", "$", "MKSTREAM"})), "OK");
  EXPECT_EQ(asker.ask({"XGROUP", "CREATE", "s", "g", "$"}).error().code, ErrorCode::conflict);
  EXPECT_EQ(asker.ask({"XREADGROUP", "GROUP", "no", "c", "STREAMS", "s", ">"}).error().code,
            ErrorCode::not_found);
}

TEST(RedisSingle, ThousandsOfCallsShareOneConnectionAndEachGetsItsOwnReply) {
  RedisServer redis;
  Asker asker(at(redis));
  constexpr int kCalls = 20'000;
  int sent = 0, answered = 0, wrong = 0;
  std::function<void()> next = [&] {
    if (sent == kCalls) return;
    const std::string word = std::to_string(sent++);
    asker.client->command("", std::array<std::string_view, 2>{"ECHO", word}, [&, word](Result<Reply> reply) {
      ++answered;
      if (shown(reply) != word) ++wrong;
      next();
    });
  };
  for (int i = 0; i < 500; ++i) next();
  ASSERT_TRUE(asker.until([&] { return answered == kCalls; }));
  EXPECT_EQ(wrong, 0);
  const std::string clients = redis.ask({"CLIENT", "LIST"});
  EXPECT_NE(clients.find("name=dripgate"), std::string::npos) << clients;
  EXPECT_EQ(clients.find("name=dripgate"), clients.rfind("name=dripgate")) << clients;
}

TEST(RedisSingle, AScriptIsSentByItsHashAndOnceInFullWhereItIsUnknown) {
  RedisServer redis;
  Asker asker(at(redis));
  const Script script("return KEYS[1] .. ':' .. ARGV[1]");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(shown(asker.run(script, {"key"}, {"arg"})), "key:arg");
  ASSERT_EQ(redis.ask({"SCRIPT", "FLUSH"}), "OK");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(shown(asker.run(script, {"key"}, {"arg"})), "key:arg");
  const std::string stats = redis.ask({"INFO", "commandstats"});
  EXPECT_NE(stats.find("cmdstat_eval:calls=2,"), std::string::npos) << stats;
  EXPECT_NE(stats.find("cmdstat_evalsha:calls=6,"), std::string::npos) << stats;
}

TEST(RedisSingle, AScriptsOwnErrorIsInvalidArgumentAndAScriptWithoutKeysIsRefused) {
  RedisServer redis;
  Asker asker(at(redis));
  const Script script("return redis.error_reply('ERR limit 0: must be positive')");
  const auto refused = asker.run(script, {"key"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().detail.find("limit 0: must be positive"), std::string::npos);
  EXPECT_EQ(asker.run(script, {}).error().code, ErrorCode::invalid_argument);
}

TEST(RedisSingle, APausedServerCostsTheTimeoutAndItsLateReplyGoesToNobody) {
  RedisServer redis;
  Asker asker(at(redis, 20ms));
  ASSERT_TRUE(asker.works({"SET", "k", "before"}));
  redis.pause();
  const auto start = std::chrono::steady_clock::now();
  const auto late = asker.ask({"GETSET", "k", "during"});
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(late.error().code, ErrorCode::timed_out);
  EXPECT_GE(took, 20ms);
  redis.resume();
  EXPECT_EQ(shown(asker.ask({"GET", "k"}, "k", kUnhurried)), "during");  // not "before", the late reply
}

TEST(RedisSingle, AConnectionThatNeverAnswersIsGivenUpThoughCallsKeepComing) {
  RedisServer redis;
  Asker asker(at(redis, 20ms));
  ASSERT_TRUE(asker.works({"PING"}));
  redis.pause();
  EXPECT_EQ(asker.ask({"PING"}).error().code, ErrorCode::timed_out);
  // Given up: what is asked now waits for a new connection and is not sent.
  EXPECT_TRUE(asker.until([&] { return asker.ask({"PING"}).error().code == ErrorCode::unavailable; }));
  redis.resume();
  EXPECT_TRUE(asker.works({"PING"}));
}

TEST(RedisSingle, WithoutAServerCallsFailAtOnceAndWorkAgainWhenItIsBack) {
  RedisServer redis;
  Asker asker(at(redis));
  ASSERT_TRUE(asker.works({"PING"}));
  redis.kill();
  ASSERT_TRUE(asker.until([&] {
    const auto refused = asker.ask({"PING"}, "k", kUnhurried);
    return !refused && refused.error().detail.find("Connection refused") != std::string::npos;
  }));
  const auto refused = asker.ask({"PING"});
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(refused.error().transient);
  redis.restart();
  EXPECT_TRUE(asker.works({"PING"}, "k", std::chrono::milliseconds{1000})) << "not back within a second";
}

TEST(RedisSingle, ACallOnAConnectionThatBreaksMayHaveHappened) {
  RedisServer redis;
  Asker asker(at(redis));
  ASSERT_TRUE(asker.works({"PING"}));
  std::optional<Result<Reply>> got;
  redis.pause();
  asker.client->command("k", std::array<std::string_view, 2>{"INCR", "k"},
                        [&](Result<Reply> reply) { got = std::move(reply); });
  asker.loop.run_for(5ms);  // written
  redis.kill();
  ASSERT_TRUE(asker.until([&] { return got.has_value(); }));
  EXPECT_EQ(got->error().code, ErrorCode::timed_out);
}

TEST(RedisSingle, TooManyCallsInFlightAreRefusedAsFull) {
  RedisServer redis;
  Options options = at(redis);
  options.in_flight_max = 2;
  Asker asker(options);
  std::vector<std::string> answers;
  for (int i = 0; i < 3; ++i)
    asker.client->command("k", std::array<std::string_view, 1>{"PING"},
                          [&](Result<Reply> reply) { answers.push_back(shown(reply).substr(0, 6)); });
  ASSERT_TRUE(asker.until([&] { return answers.size() == 3; }));
  EXPECT_EQ(std::count(answers.begin(), answers.end(), "PONG"), 2);
  EXPECT_EQ(std::count(answers.begin(), answers.end(), "(full)"), 1);
}

TEST(RedisSingle, OutOfMemoryIsFull) {
  RedisServer redis({.lines = {"maxmemory 1", "maxmemory-policy noeviction"}});
  Asker asker(at(redis));
  const auto refused = asker.ask({"SET", "k", "v"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::full);
}

TEST(RedisSingle, AReplicaIsNotWrittenToAndIsLeftForTheOneThatTakesItsPlace) {
  RedisServer redis;
  Asker asker(at(redis));
  ASSERT_TRUE(asker.works({"SET", "k", "v"}));
  ASSERT_EQ(redis.ask({"REPLICAOF", "127.0.0.1", "1"}), "OK");
  EXPECT_EQ(asker.ask({"SET", "k", "v"}).error().code, ErrorCode::unavailable);
  const std::string before = redis.ask({"INFO", "stats"});
  ASSERT_EQ(redis.ask({"REPLICAOF", "NO", "ONE"}), "OK");
  EXPECT_TRUE(asker.works({"SET", "k", "v"}));
}

TEST(RedisSingle, UserPasswordAndDatabaseAreSaidOnEveryConnection) {
  RedisServer redis({.lines = {"user app on >geheim ~rl:* +@all -@admin"}, .password = "root"});
  Options options = at(redis);
  options.user = "app";
  options.password = "geheim";
  options.database = 3;
  Asker asker(options);
  ASSERT_EQ(shown(asker.ask({"SET", "rl:k", "v"})), "OK");
  const auto foreign = asker.ask({"GET", "other:k"});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(foreign.error().detail.find("NOPERM"), std::string::npos);
  const std::string keyspace = redis.ask({"INFO", "keyspace"});
  EXPECT_NE(keyspace.find("db3:keys=1"), std::string::npos) << keyspace;
  redis.kill();
  redis.restart();
  EXPECT_TRUE(asker.works({"SET", "rl:k", "v"}));
}

TEST(RedisSingle, AUserWithoutClientCommandsStillConnects) {
  RedisServer redis({.lines = {"user narrow on >pw ~* +get +evalsha +eval"}});
  Options options = at(redis);
  options.user = "narrow";
  options.password = "pw";
  Asker asker(options);
  EXPECT_EQ(shown(asker.ask({"GET", "k"})), "(nil)");
}

TEST(RedisSingle, AWrongPasswordIsAFaultOfTheConfigurationNotAnOutage) {
  RedisServer redis({.password = "right"});
  for (const std::string& given : {std::string("wrong"), std::string()}) {
    Options options = at(redis);
    options.password = given;
    Asker asker(options);
    std::optional<Error> error;
    ASSERT_TRUE(asker.until([&] {
      const auto refused = asker.ask({"PING"});
      if (!refused) error = refused.error();
      return error.has_value();
    }));
    EXPECT_EQ(error->code, ErrorCode::invalid_argument) << error->detail;
  }
}

TEST(RedisSingle, ClosingAnswersWhatWaitsAndSaysWhetherItMayHaveHappened) {
  RedisServer redis;
  Asker connected(at(redis));
  ASSERT_TRUE(connected.works({"PING"}));
  redis.pause();
  Asker connecting(at(redis));  // the kernel accepts, nobody greets
  for (Asker* asker : {&connected, &connecting}) {
    std::string answer;
    asker->client->command("k", std::array<std::string_view, 1>{"PING"},
                           [&](Result<Reply> reply) { answer = to_string(reply.error().code); });
    asker->loop.run_for(5ms);
    asker->client.reset();
    ASSERT_TRUE(asker->until([&] { return !answer.empty(); }));
    EXPECT_EQ(answer, asker == &connected ? "timed_out" : "cancelled");
  }
}

TEST(RedisSingle, WhatWaitsForAWriteGoesOutWithIt) {
  RedisServer redis;
  Asker asker(at(redis));
  ASSERT_TRUE(asker.works({"PING"}));
  const std::string before = redis.ask({"INFO", "stats"});
  std::vector<std::string> order;
  asker.client->when_writable(0, [&] {
    order.emplace_back("task");
    asker.client->command("k", std::array<std::string_view, 2>{"ECHO", "of the task"},
                          [&](Result<Reply> reply) { order.push_back(shown(reply)); });
  });
  asker.client->command("k", std::array<std::string_view, 2>{"ECHO", "before it"},
                        [&](Result<Reply> reply) { order.push_back(shown(reply)); });
  EXPECT_TRUE(order.empty());
  ASSERT_TRUE(asker.until([&] { return order.size() == 3; }));
  EXPECT_EQ(order, (std::vector<std::string>{"task", "before it", "of the task"}));
}

TEST(RedisSingle, WhatWaitsForAWriteIsNotForgottenWithoutAConnection) {
  RedisServer redis;
  redis.kill();
  Asker asker(at(redis));
  int ran = 0;
  for (int i = 0; i < 3; ++i) {
    asker.client->when_writable(0, [&] { ++ran; });
    ASSERT_TRUE(asker.until([&] { return ran == i + 1; }));
    (void)asker.ask({"PING"});
  }
}

TEST(RedisSingle, EachPrimaryIsTheOne) {
  RedisServer redis;
  Asker asker(at(redis));
  const auto replies = asker.each({"INFO", "server"});
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].node, redis.address());
  ASSERT_TRUE(replies[0].reply);
  EXPECT_NE(replies[0].reply->text()->find("redis_version:7"), std::string::npos);
}

TEST(RedisSingle, OptionsThatCannotWorkAreRefused) {
  net::IoLoop loop;
  EXPECT_EQ(make_client(loop, {}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(make_client(loop, {.nodes = {local(1)}, .timeout = Duration{0}}).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(make_client(loop, {.nodes = {local(1)}, .tls = net::ClientTls{.ca_file = "/no/such/file"}})
                .error()
                .code,
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace dripgate::redis::testing
