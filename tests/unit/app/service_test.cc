// Ingest and operations over a real file and a real loop.
#include "app/service.h"

#include <set>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "unit/app/world.h"

namespace dripgate::app {
namespace {

using Kind = drip::EventVerdict::Kind;

std::string payout(const std::string& id, const std::string& merchant = "8421") {
  return R"({"payoutId":")" + id + R"(","merchant_id":")" + merchant + R"(","amount":2500.00})";
}

class ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<void> opened = world.open();
    ASSERT_TRUE(opened) << opened.error().detail;
    world.start();
  }
  drip::PipelineStatus status() {
    Answer<drip::PipelineStatus> answer;
    world.service.status("payouts", answer.done());
    return answer.get().value();
  }
  broker::DeadLetterPage letters() {
    Answer<broker::DeadLetterPage> answer;
    world.service.dead_letters("payouts", 0, 100, answer.done());
    return answer.get().value();
  }
  server::KeyStatus key_status(const std::string& key) {
    Answer<server::KeyStatus> answer;
    world.service.key_status("payouts", key, answer.done());
    return answer.get().value();
  }
  World world;
};

TEST_F(ServiceTest, AnswersWithTheVerdictOfThePipeline) {
  auto answers = world.ingest({{.id = "", .body = payout("a"), .attributes = {}},
                               {.id = "", .body = payout("b"), .attributes = {}},
                               {.id = "", .body = payout("c"), .attributes = {}},
                               {.id = "", .body = "not json", .attributes = {}}});
  ASSERT_TRUE(answers) << answers.error().detail;
  ASSERT_EQ(answers->size(), 4u);
  const auto& first = (*answers)[0];
  EXPECT_FALSE(first.accepted_only);
  EXPECT_EQ(first.id, "a");
  EXPECT_EQ(first.verdict.kind, Kind::now);
  EXPECT_EQ((*answers)[1].verdict.kind, Kind::now);
  EXPECT_EQ((*answers)[2].verdict.kind, Kind::scheduled);
  ASSERT_TRUE((*answers)[2].verdict.slot);
  EXPECT_GT(*(*answers)[2].verdict.slot, world.clock.now() - std::chrono::seconds{5});
  EXPECT_EQ((*answers)[3].verdict.kind, Kind::dead_letter);
  EXPECT_EQ((*answers)[3].verdict.reason, "malformed_payload");
  EXPECT_TRUE(world.eventually([&] { return world.delivered() == std::vector<std::string>{"a", "b"}; }));
  EXPECT_EQ(status().backlog, 1u);
}

TEST_F(ServiceTest, TakesARetryOfTheSameEventOnce) {
  EXPECT_EQ(world.ingest_one(payout("a")).verdict.kind, Kind::now);
  const auto again = world.ingest_one(payout("a"));
  EXPECT_EQ(again.id, "a");
  EXPECT_TRUE(again.accepted_only || again.verdict.kind == Kind::duplicate);
  ASSERT_TRUE(world.eventually([&] { return world.delivered().size() == 1 && status().outstanding == 0; }));
  EXPECT_EQ(world.ingest_one(payout("a")).verdict.kind, Kind::duplicate);
  EXPECT_EQ(world.delivered(), std::vector<std::string>{"a"});
}

TEST_F(ServiceTest, RefusesAnotherBodyUnderAnIdThatIsTaken) {
  world.ingest_one(payout("a"));
  const auto conflict = world.ingest_one(R"({"payoutId":"a","merchant_id":"8421","amount":1})");
  EXPECT_EQ(conflict.verdict.kind, Kind::conflict);
  EXPECT_EQ(conflict.id, "a");
  EXPECT_EQ(world.ingest_one(payout("x"), "given").verdict.kind, Kind::now);
  EXPECT_EQ(world.ingest_one(payout("y"), "given").verdict.kind, Kind::conflict);
}

TEST_F(ServiceTest, PrefersTheGivenIdToTheTemplate) {
  const auto answer = world.ingest_one(payout("a"), "given-1");
  EXPECT_EQ(answer.id, "given-1");
  EXPECT_TRUE(world.eventually([&] { return world.delivered() == std::vector<std::string>{"given-1"}; }));
}

TEST_F(ServiceTest, TakesTheFallbackIdOnlyWhereTheTemplateNamesNothing) {
  auto answers = world.ingest(
      {{.id = "", .body = payout("a"), .attributes = {}, .fallback_id = "batch-1"},
       {.id = "", .body = R"({"merchant_id":"8421"})", .attributes = {}, .fallback_id = "batch-2"}});
  ASSERT_TRUE(answers);
  EXPECT_EQ((*answers)[0].id, "a");
  EXPECT_EQ((*answers)[1].id, "batch-2");
  EXPECT_TRUE(
      world.eventually([&] { return world.delivered() == std::vector<std::string>{"a", "batch-2"}; }));
}

TEST_F(ServiceTest, MakesAnIdWhereThereIsNone) {
  std::set<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.insert(world.ingest_one(R"({"merchant_id":"1"})").id);
  EXPECT_EQ(ids.size(), 5u);
  EXPECT_FALSE(ids.contains(""));
  EXPECT_TRUE(world.eventually([&] { return status().backlog == 3 && world.delivered().size() == 2; }));
}

TEST_F(ServiceTest, AcceptsForAPausedStreamAndGoesOnWhenItResumes) {
  Answer<void> paused;
  world.service.pause("payouts", paused.done());
  ASSERT_TRUE(paused.get());
  EXPECT_TRUE(status().paused);
  const auto answer = world.ingest_one(payout("a"));
  EXPECT_TRUE(answer.accepted_only);
  EXPECT_EQ(answer.id, "a");
  EXPECT_TRUE(world.delivered().empty());
  Answer<void> resumed;
  world.service.resume("payouts", resumed.done());
  ASSERT_TRUE(resumed.get());
  EXPECT_TRUE(world.eventually([&] { return world.delivered() == std::vector<std::string>{"a"}; }));
}

TEST_F(ServiceTest, AnswersNotFoundForAnUnknownStream) {
  Answer<drip::PipelineStatus> answer;
  world.service.status("nope", answer.done());
  const auto result = answer.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::not_found);
  EXPECT_TRUE(world.service.has_stream("payouts"));
  EXPECT_FALSE(world.service.has_stream("nope"));
}

TEST_F(ServiceTest, FreezesAndThawsAKey) {
  const WallTime until = world.clock.now() + std::chrono::hours{3};
  Answer<void> frozen;
  world.service.freeze("payouts", "merchant_8421:payout", until, frozen.done());
  ASSERT_TRUE(frozen.get());
  EXPECT_EQ(key_status("merchant_8421:payout").view.frozen_until, until);
  EXPECT_EQ(key_status("merchant_8421:payout").key, "payouts:merchant_8421:payout");
  const auto held = world.ingest_one(payout("a"));
  EXPECT_EQ(held.verdict.kind, Kind::scheduled);
  EXPECT_GE(held.verdict.slot, until);
  Answer<void> thawed;
  world.service.thaw("payouts", "merchant_8421:payout", thawed.done());
  ASSERT_TRUE(thawed.get());
  EXPECT_FALSE(key_status("merchant_8421:payout").view.frozen_until);
  Answer<void> reset;
  world.service.reset("payouts", "merchant_8421:payout", reset.done());
  ASSERT_TRUE(reset.get());
  EXPECT_EQ(key_status("merchant_8421:payout").view.pending, 0);
}

TEST_F(ServiceTest, ListsShowsReplaysAndPurgesDeadLetters) {
  world.ingest_one("not json", "bad-1");
  world.ingest_one("nor this", "bad-2");
  ASSERT_TRUE(world.eventually([&] { return letters().total == 2; }));
  const auto page = letters();
  EXPECT_EQ(page.letters[0].event_id, "bad-1");
  EXPECT_EQ(page.letters[0].message.body, "not json");

  Answer<std::optional<broker::DeadLetter>> shown;
  world.service.dead_letter("payouts", page.letters[1].sequence, shown.done());
  EXPECT_EQ(shown.get().value().value().event_id, "bad-2");

  Answer<std::uint64_t> replayed;
  world.service.replay("payouts", {.sequence = page.letters[0].sequence, .per_second = 100}, replayed.done());
  EXPECT_EQ(replayed.get().value(), 1u);

  Answer<std::uint64_t> one;
  world.service.purge("payouts", page.letters[1].sequence, {}, one.done());
  EXPECT_EQ(one.get().value(), 1u);
  Answer<std::uint64_t> again;
  world.service.purge("payouts", page.letters[1].sequence, {}, again.done());
  EXPECT_EQ(again.get().value(), 0u);

  ASSERT_TRUE(world.eventually([&] { return letters().total == 1; }));
  Answer<std::uint64_t> all;
  world.service.purge("payouts", std::nullopt, world.clock.now() + std::chrono::hours{1}, all.done());
  EXPECT_EQ(all.get().value(), 1u);
  EXPECT_EQ(letters().total, 0u);
}

/// Makes the next `count` commits fail, as a broken disk would.
void break_commits(World& world, int count) {
  world.loop.run([&] {
    static int left;
    left = count;
    sqlite3_commit_hook(world.engine.database().handle(), [](void*) { return left-- > 0 ? 1 : 0; }, nullptr);
  });
}

TEST_F(ServiceTest, SendsNothingOfATurnWhoseCommitFailsAndGoesOnAfterwards) {
  break_commits(world, 1);
  auto refused = world.ingest({{.id = "", .body = payout("a"), .attributes = {}}});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(world.delivered().empty());
  EXPECT_FALSE(world.service.readiness().ready);
  // Streams are down for a moment, then built again from the file.
  ASSERT_TRUE(world.eventually([&] {
    auto answers = world.ingest({{.id = "", .body = payout("a"), .attributes = {}}});
    return answers && !answers->front().accepted_only;
  }));
  EXPECT_TRUE(world.eventually([&] { return world.delivered() == std::vector<std::string>{"a"}; }));
}

TEST_F(ServiceTest, DeliversAgainWithTheSameIdWhenTheTurnOfTheAnswerFails) {
  world.loop.run([&] { world.sink.silent = true; });
  EXPECT_TRUE(world.ingest_one(payout("a")).verdict.kind == Kind::now);
  ASSERT_TRUE(world.eventually([&] { return world.delivered().size() == 1; }));
  world.loop.run([&] { world.sink.silent = false; });
  break_commits(world, 1);
  // Any write will do to make a turn fail: every pipeline is then built again from the file.
  Answer<void> frozen;
  world.service.freeze("payouts", "other", world.clock.now(), frozen.done());
  EXPECT_FALSE(frozen.get());
  ASSERT_TRUE(world.eventually([&] { return world.delivered().size() == 2; }));
  EXPECT_EQ(world.delivered(), (std::vector<std::string>{"a", "a"}));
}

TEST_F(ServiceTest, StaysPausedWhenThePipelinesAreBuiltAgain) {
  Answer<void> paused;
  world.service.pause("payouts", paused.done());
  ASSERT_TRUE(paused.get());
  break_commits(world, 1);
  EXPECT_FALSE(world.ingest({{.id = "", .body = payout("a"), .attributes = {}}}));
  ASSERT_TRUE(world.eventually([&] {
    const auto answers = world.ingest({{.id = "", .body = payout("a"), .attributes = {}}});
    return answers && answers->front().accepted_only;
  }));
  EXPECT_TRUE(status().paused);
  EXPECT_TRUE(world.delivered().empty());
}

TEST_F(ServiceTest, StaysDownWhileEveryCommitFailsAndSaysSo) {
  break_commits(world, 1'000'000);
  (void)world.ingest({{.id = "", .body = payout("a"), .attributes = {}}});
  ASSERT_TRUE(world.eventually([&] { return !world.service.readiness().ready; }));
  EXPECT_EQ(world.service.readiness().reasons.size(), 1u);
  EXPECT_TRUE(world.delivered().empty());
}

TEST(Engine, RefusesAFileThatAnotherProcessOwns) {
  World first;
  ASSERT_TRUE(first.open());
  const std::string yaml =
      std::string(kYaml).replace(std::string(kYaml).find("./app.db"), 8, first.folder.path("app.db"));
  World second(yaml);
  const Result<void> opened = second.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::locked);
}

TEST(Engine, KeepsWhatWasBookedOverARestart) {
  testing::ScratchFolder folder;
  const std::string yaml =
      std::string(kYaml).replace(std::string(kYaml).find("./app.db"), 8, folder.path("kept.db"));
  {
    World world(yaml);
    ASSERT_TRUE(world.open());
    world.start();
    for (const char* id : {"a", "b", "c"}) world.ingest_one(payout(id));
    ASSERT_TRUE(world.eventually([&] { return world.delivered().size() == 2; }));
  }
  World world(yaml);
  ASSERT_TRUE(world.open());
  world.start();
  Answer<drip::PipelineStatus> status;
  world.service.status("payouts", status.done());
  EXPECT_EQ(status.get().value().backlog, 1u);
  EXPECT_EQ(world.ingest_one(payout("c")).verdict.kind, Kind::scheduled);
}

TEST(Engine, DeliversToATopicInTheSameCommit) {
  std::string yaml = kYaml;
  const std::string http = R"({ http: "http://127.0.0.1:9/payouts" })";
  yaml.replace(yaml.find(http), http.size(), "{ topic: released }");
  World world(yaml);
  ASSERT_TRUE(world.open());
  world.start();
  EXPECT_EQ(world.ingest_one(payout("a")).verdict.kind, Kind::now);
  Answer<drip::PipelineStatus> status;
  world.service.status("payouts", status.done());
  EXPECT_EQ(status.get().value().outstanding, 0u);
  std::int64_t count = 0;
  world.loop.run([&] {
    auto& statement =
        world.engine.database().statement("SELECT COUNT(*) FROM messages WHERE id = 'payouts:a'");
    if (statement.step().value_or(false)) count = statement.integer(0);
    statement.reset();
  });
  EXPECT_EQ(count, 1);
  EXPECT_TRUE(world.delivered().empty());
}

TEST(Engine, RunsInMemory) {
  std::string yaml = kYaml;
  yaml.replace(yaml.find("{ sqlite: ./app.db }"), 20, "{ memory: {} }");
  World world(yaml);
  ASSERT_TRUE(world.open());
  world.start();
  for (const char* id : {"a", "b"}) EXPECT_EQ(world.ingest_one(payout(id)).verdict.kind, Kind::now);
  EXPECT_EQ(world.ingest_one(payout("c")).verdict.kind, Kind::scheduled);
  EXPECT_TRUE(world.eventually([&] { return world.delivered().size() == 2; }));
}

}  // namespace
}  // namespace dripgate::app
