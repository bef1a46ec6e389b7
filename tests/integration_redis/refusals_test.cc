// What a real server says when it cannot: each is unavailable, nothing happened, and calls work again after
// it.
#include <gtest/gtest.h>

#include "integration_redis/asker.h"
#include "support/redis/redis_server.h"

namespace dripgate::redis::testing {
namespace {

using dripgate::testing::RedisServer;

Options at(const RedisServer& redis) {
  return {.nodes = {local(redis.port())}, .timeout = kUnhurried};
}

/// Asks until the refusal comes that begins with `word`; whether it was unavailable.
bool refused_with(Asker& asker, std::string_view word, std::initializer_list<std::string_view> words) {
  std::optional<Error> refusal;
  EXPECT_TRUE(asker.until([&] {
    const auto reply = asker.ask(words);
    if (!reply && reply.error().detail.find(": " + std::string(word)) != std::string::npos)
      refusal = reply.error();
    return refusal.has_value();
  })) << "never said "
      << word;
  return refusal && refusal->code == ErrorCode::unavailable && refusal->transient;
}

TEST(RedisRefusals, TooFewReplicasForAWrite) {
  RedisServer redis({.lines = {"min-replicas-to-write 1"}});
  Asker asker(at(redis));
  EXPECT_TRUE(refused_with(asker, "NOREPLICAS", {"SET", "k", "v"}));
  ASSERT_EQ(redis.ask({"CONFIG", "SET", "min-replicas-to-write", "0"}), "OK");
  EXPECT_EQ(shown(asker.ask({"SET", "k", "v"})), "OK");
}

TEST(RedisRefusals, AScriptThatNeverEndsKeepsOthersOutUntilItIsKilled) {
  RedisServer redis({.lines = {"busy-reply-threshold 10"}});
  Asker looping(at(redis)), asker(at(redis));
  ASSERT_TRUE(asker.works({"PING"}));
  const Script forever("while true do end");
  std::string ended;
  looping.client->run(forever, std::array<std::string_view, 1>{"k"}, {},
                      [&](Result<Reply> reply) { ended = shown(reply); });
  looping.loop.run_for(20ms);
  EXPECT_TRUE(refused_with(asker, "BUSY", {"GET", "k"}));
  EXPECT_EQ(shown(asker.ask({"SCRIPT", "KILL"})), "OK");
  EXPECT_TRUE(asker.works({"GET", "k"}));
  ASSERT_TRUE(looping.until([&] { return !ended.empty(); }));
  EXPECT_TRUE(ended.starts_with("(invalid_argument)")) << ended;
}

TEST(RedisRefusals, AServerThatIsLoadingAnswersWhenItHasLoaded) {
  RedisServer redis({.lines = {"enable-debug-command yes", "loading-process-events-interval-bytes 1024"}});
  ASSERT_EQ(redis.ask({"DEBUG", "POPULATE", "2000", "key", "100"}), "OK");
  ASSERT_EQ(redis.ask({"CONFIG", "SET", "key-load-delay", "200"}), "OK");
  Asker reloading(at(redis)), asker(at(redis));
  ASSERT_TRUE(asker.works({"PING"}));
  std::string ended;
  reloading.client->command("", std::array<std::string_view, 2>{"DEBUG", "RELOAD"}, 20s,
                            [&](Result<Reply> reply) { ended = shown(reply); });
  reloading.loop.run_for(20ms);
  EXPECT_TRUE(refused_with(asker, "LOADING", {"GET", "key:1"}));
  ASSERT_TRUE(reloading.until([&] { return !ended.empty(); }));
  EXPECT_EQ(ended, "OK");
  EXPECT_TRUE(asker.works({"GET", "key:1"}));
}

TEST(RedisRefusals, AReplicaThatHasLostItsPrimary) {
  RedisServer redis({.lines = {"replicaof 127.0.0.1 1", "replica-serve-stale-data no"}});
  Asker asker(at(redis));
  EXPECT_TRUE(refused_with(asker, "MASTERDOWN", {"GET", "k"}));
  ASSERT_EQ(redis.ask({"REPLICAOF", "NO", "ONE"}), "OK");
  EXPECT_TRUE(asker.works({"SET", "k", "v"}));
}

}  // namespace
}  // namespace dripgate::redis::testing
