// `dripgate up`, `sink`, `publish` and the operator's verbs as processes.
#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>
#include <signal.h>

#include "integration/processes.h"

namespace dripgate::integration {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Up, DeliversEveryEventOnceAndNeverMoreThanTheLimit) {
  Processes processes({.limits = "[ { rps: 10 } ]"});
  ASSERT_TRUE(processes.start()) << processes.up_log();
  const Finished published = processes.publish(payout_lines("p", 60, 2));
  EXPECT_EQ(published.code, 0) << published.err;
  EXPECT_TRUE(has(published.out, R"("events":60)")) << published.out;
  EXPECT_TRUE(has(published.out, R"("failed":0)")) << published.out;
  ASSERT_TRUE(eventually([&] { return processes.confirmed_ids().size() == 60; }));
  const auto lines = processes.sink_lines();
  EXPECT_EQ(lines.size(), 60u);
  EXPECT_LE(fullest_second(lines), 10u);
  EXPECT_EQ(fullest_second(lines), 10u);  // and it is used
}

TEST(Up, EndsCleanlyOnSigtermAndDeliversNothingTwiceAfterIt) {
  Processes processes({.limits = "[ { rps: 1000 } ]", .sink_options = {"--slow", "50ms"}});
  ASSERT_TRUE(processes.start()) << processes.up_log();
  EXPECT_EQ(processes.publish(payout_lines("p", 300, 3)).code, 0);
  processes.up().signal(SIGTERM);
  EXPECT_EQ(processes.up().exit_code(), 0) << processes.up_log();
  EXPECT_TRUE(has(processes.up_log(), "stopped"));
  ASSERT_TRUE(processes.start_up()) << processes.up_log();
  ASSERT_TRUE(eventually([&] { return processes.confirmed_ids().size() == 300; }));
  EXPECT_EQ(processes.sink_lines().size(), 300u);
}

TEST(Up, RefusesAFileThatAnotherProcessOwns) {
  Processes processes;
  ASSERT_TRUE(processes.start()) << processes.up_log();
  std::string second = read_file(processes.config());
  const std::size_t at = second.find("listen:");
  second = second.substr(0, at) + "listen: \"127.0.0.1:0\" }\n";
  write_file(processes.folder.path("second.yaml"), second);
  const Finished refused =
      run({"up", "-c", processes.folder.path("second.yaml")}, processes.folder.path("second"));
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(has(refused.err, "dripgate.db")) << refused.err;
  EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1) << refused.err;
  EXPECT_EQ(processes.publish(payout_lines("p", 5, 1)).code, 0);
}

TEST(Up, RefusesAnAddressThatIsTaken) {
  Processes processes({.store = "{ memory: {} }"});
  ASSERT_TRUE(processes.start()) << processes.up_log();
  const Finished refused = run({"up", "-c", processes.config()}, processes.folder.path("second"));
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(has(refused.err, "127.0.0.1:")) << refused.err;
}

TEST(Up, TakesANewLimitWhileItRunsAndKeepsTheLastGoodOne) {
  Processes processes({.limits = "[ { limit: 1, window: 1d } ]"});
  ASSERT_TRUE(processes.start()) << processes.up_log();
  EXPECT_TRUE(has(processes.publish(payout_lines("a", 3, 1)).out, R"("now":1,)"));
  processes.write_config({.limits = "[ { limit: 3, window: 1d } ]"});
  processes.up().signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return has(processes.up_log(), "config reloaded"); }));
  std::string other = payout_lines("b", 4, 1);
  for (std::size_t at; (at = other.find("\"m0\"")) != std::string::npos;) other.replace(at, 4, "\"other\"");
  EXPECT_TRUE(has(processes.publish(other).out, R"("now":3,)"));

  processes.write_config({.limits = "[ { limit: lots } ]"});
  processes.up().signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return has(processes.up_log(), "config refused"); }));
  for (std::size_t at; (at = other.find("\"other\"")) != std::string::npos;)
    other.replace(at, 7, "\"third\"");
  for (std::size_t at; (at = other.find("\"b")) != std::string::npos;) other.replace(at, 2, "\"c");
  EXPECT_TRUE(has(processes.publish(other).out, R"("now":3,)"));
}

TEST(Up, AsksForATokenWhereTokensAreSet) {
  Processes processes;
  write_file(processes.folder.path("ingest.token"), "ingest-secret-0123456789abcdef\n");
  write_file(processes.folder.path("admin.token"), "admin-secret-0123456789abcdef0\n");
  StreamPlan plan;
  plan.server = ", tokens: [ { file: " + processes.folder.path("ingest.token") +
                ", scopes: [ingest] }, { file: " + processes.folder.path("admin.token") +
                ", scopes: [admin] } ]";
  Processes guarded(plan);
  ASSERT_TRUE(guarded.start()) << guarded.up_log();
  const Finished stranger = guarded.publish(payout_lines("p", 2, 1));
  EXPECT_EQ(stranger.code, 1);
  EXPECT_TRUE(has(stranger.err, "401")) << stranger.err;
  const std::string token = processes.folder.path("ingest.token");
  EXPECT_EQ(guarded.publish(payout_lines("p", 2, 1), {"--token-file", token}).code, 0);
  EXPECT_EQ(guarded.ask({"pause", "payouts", "--token-file", token}).code, 1);
  EXPECT_EQ(guarded.ask({"pause", "payouts", "--token-file", processes.folder.path("admin.token")}).code, 0);
  EXPECT_FALSE(has(guarded.up_log(), "secret-0123"));
}

TEST(Up, DoesNotListenBeyondLoopbackWithoutCredentials) {
  testing::ScratchFolder folder;
  write_file(folder.path("open.yaml"), "server: { listen: \"0.0.0.0:0\" }\n");
  const Finished refused = run({"up", "-c", folder.path("open.yaml")}, folder.path("up"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(has(refused.err, "open.yaml:1:")) << refused.err;
  EXPECT_EQ(run({"lint", folder.path("open.yaml")}, folder.path("lint")).code, 1);
}

TEST(Up, RunsAFasterClockOnlyOnANewFile) {
  Processes processes;
  ASSERT_TRUE(processes.start()) << processes.up_log();
  processes.up().kill_hard();
  const Finished refused =
      run({"up", "-c", processes.config(), "--clock-scale", "60"}, processes.folder.path("scaled"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(has(refused.err, "new database")) << refused.err;
}

TEST(Verbs, ShowFreezeAndThawAKey) {
  Processes processes;
  ASSERT_TRUE(processes.start()) << processes.up_log();
  EXPECT_EQ(processes.ask({"freeze", "payouts", "merchant_m0:payout", "--for", "10m"}).code, 0);
  EXPECT_TRUE(has(processes.publish(payout_lines("p", 3, 1)).out, R"("scheduled":3)"));
  const Finished key = processes.ask({"inspect", "payouts", "merchant_m0:payout"});
  EXPECT_TRUE(has(key.out, "pending       3")) << key.out;
  EXPECT_FALSE(has(key.out, "frozen until  -")) << key.out;
  EXPECT_EQ(processes.ask({"thaw", "payouts", "merchant_m0:payout"}).code, 0);
  EXPECT_TRUE(has(processes.ask({"inspect", "payouts", "merchant_m0:payout"}).out, "frozen until  -"));
  EXPECT_TRUE(has(processes.ask({"inspect"}).out, "backlog       3"));
  EXPECT_EQ(processes.ask({"freeze", "payouts", "merchant_m0:payout"}).code, 2);
}

TEST(Verbs, PauseAndResumeAStream) {
  Processes processes;
  ASSERT_TRUE(processes.start()) << processes.up_log();
  EXPECT_EQ(processes.ask({"pause", "payouts"}).code, 0);
  EXPECT_TRUE(has(processes.publish(payout_lines("p", 3, 1)).out, R"("accepted":3)"));
  EXPECT_TRUE(processes.sink_lines().empty());
  EXPECT_EQ(processes.ask({"resume", "payouts"}).code, 0);
  EXPECT_TRUE(eventually([&] { return processes.confirmed_ids().size() == 3; }));
}

TEST(Verbs, ListShowReplayAndPurgeDeadLetters) {
  Processes processes;
  ASSERT_TRUE(processes.start()) << processes.up_log();
  const Finished published = processes.publish("not json\nnor this\n", {"--id-prefix", "run"});
  EXPECT_EQ(published.code, 0);
  EXPECT_TRUE(has(published.out, R"("dead_letter":2)")) << published.out;
  const Finished list = processes.ask({"dlq", "list", "payouts"});
  EXPECT_TRUE(has(list.out, "malformed_payload")) << list.out;
  EXPECT_TRUE(has(list.out, "2 of 2 dead letters")) << list.out;
  EXPECT_TRUE(has(processes.ask({"dlq", "show", "payouts", "1"}).out, "not json"));
  EXPECT_EQ(processes.ask({"dlq", "show", "payouts", "77"}).code, 1);
  EXPECT_TRUE(has(processes.ask({"dlq", "replay", "payouts", "1"}).out, "replaying 1"));
  EXPECT_EQ(processes.ask({"dlq", "purge", "payouts"}).code, 2);
  EXPECT_TRUE(eventually([&] { return has(processes.ask({"dlq", "list", "payouts"}).out, "2 of 2"); }));
  EXPECT_TRUE(has(processes.ask({"dlq", "purge", "payouts", "--all"}).out, "2 dead letters removed"));
  EXPECT_TRUE(has(processes.ask({"dlq", "list", "payouts"}).out, "0 of 0"));
}

TEST(Verbs, PublishTellsTheTruthInItsExitCode) {
  Processes processes;
  ASSERT_TRUE(processes.start()) << processes.up_log();
  EXPECT_EQ(processes.publish(payout_lines("p", 3, 1)).code, 0);
  const Finished again = processes.publish(payout_lines("p", 3, 1));
  EXPECT_EQ(again.code, 0);
  EXPECT_TRUE(has(again.out, R"("duplicate":3)")) << again.out;
  const Finished conflict = processes.publish(R"({"payoutId":"p1","merchant_id":"m0","amount":1})");
  EXPECT_EQ(conflict.code, 1);
  EXPECT_TRUE(has(conflict.out, R"("conflict":1)")) << conflict.out;
  const Finished unknown = processes.ask({"inspect", "nope"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_TRUE(has(unknown.err, "nope")) << unknown.err;
  EXPECT_EQ(processes.ask({"publish", "payouts", "/nonexistent"}).code, 2);
  const Finished no_verb = processes.ask({"bogus"});
  EXPECT_EQ(no_verb.code, 2);
  EXPECT_EQ(processes.ask({"--version"}).code, 0);
  EXPECT_TRUE(has(no_verb.err, "there is no verb 'bogus'; the verbs are")) << no_verb.err;
  processes.up().kill_hard();
  const Finished unreachable = processes.publish(payout_lines("q", 3, 1));
  EXPECT_EQ(unreachable.code, 3);
  EXPECT_TRUE(has(unreachable.out, R"("failed":3)")) << unreachable.out;
  EXPECT_EQ(processes.ask({"inspect"}).code, 3);
}

TEST(Verbs, SinkPlaysARateLimitThatTheDripObeys) {
  Processes processes({.limits = "[ { rps: 1000 } ]", .sink_options = {"--limit", "20/1s"}});
  ASSERT_TRUE(processes.start()) << processes.up_log();
  EXPECT_EQ(processes.publish(payout_lines("p", 50, 1)).code, 0);
  ASSERT_TRUE(eventually([&] { return processes.confirmed_ids().size() == 50; }))
      << processes.confirmed_ids().size();
  const auto lines = processes.sink_lines();
  EXPECT_TRUE(std::ranges::any_of(lines, [](const SinkLine& line) { return line.status == 429; }));
  EXPECT_TRUE(has(processes.ask({"dlq", "list", "payouts"}).out, "0 of 0"));
}

TEST(Verbs, SinkPlaysFailuresThatTheDripRetries) {
  Processes processes({.limits = "[ { rps: 1000 } ]", .sink_options = {"--fail-rate", "0.3"}});
  ASSERT_TRUE(processes.start()) << processes.up_log();
  EXPECT_EQ(processes.publish(payout_lines("p", 40, 4)).code, 0);
  ASSERT_TRUE(eventually([&] { return processes.confirmed_ids().size() == 40; }))
      << processes.confirmed_ids().size();
}

TEST(Demo, EndsWithAHundredInEachOfFiveMinutes) {
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a minute of the demo is one second: too short for the thread sanitizer";
#endif
  testing::ScratchFolder folder;
  const Finished demo =
      run({"demo", "--events", DRIPGATE_SOURCE_DIR "/examples/payouts.ndjson"}, folder.path("demo"));
  EXPECT_EQ(demo.code, 0) << demo.out << demo.err;
  EXPECT_TRUE(has(demo.out, "merchant_8421:payout    100    100    100    100    100")) << demo.out;
  EXPECT_TRUE(has(demo.out, "lost              0")) << demo.out;
  EXPECT_TRUE(has(demo.out, "windows exceeded  0")) << demo.out;
  EXPECT_TRUE(has(demo.out, "dead-lettered     3   3 malformed_payload")) << demo.out;
}

}  // namespace
}  // namespace dripgate::integration
