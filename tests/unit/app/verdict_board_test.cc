// When a waiting ingest call is answered, and with what.
#include "app/verdict_board.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "broker/sqlite/after_commit_sink.h"

namespace dripgate::app {
namespace {

using Kind = drip::EventVerdict::Kind;

class FileTurn final : public Turn {
 public:
  explicit FileTurn(sqlite::Database& database) : database_(database) {}
  void when_durable(std::move_only_function<void(Result<void>)> then) override {
    database_.after_commit(std::move(then));
  }

 private:
  sqlite::Database& database_;
};

class VerdictBoardTest : public ::testing::Test {
 protected:
  IngestCallPtr call(std::vector<std::string> ids) {
    auto made = std::make_shared<IngestCall>();
    made->stream = "payouts";
    made->answers.resize(ids.size());
    for (auto& answer : made->answers) answer.accepted_only = true;
    made->message_ids = std::move(ids);
    made->done = [this](Result<std::vector<server::IngestAnswer>> given) {
      answers.push_back(std::move(given));
    };
    return made;
  }
  void verdict(const std::string& id, Kind kind = Kind::now) {
    board.verdict("payouts",
                  {.kind = kind, .message_id = id, .event_id = id, .key = "k", .slot = {}, .reason = {}},
                  turn);
  }
  void enter(const IngestCallPtr& made) {
    board.enter(made);
    for (std::size_t i = 0; i < made->message_ids.size(); ++i) board.published(made, i, {}, turn);
  }
  Result<void> end_turn(bool commits = true) {
    // Something must be written for a commit to be there that can fail.
    EXPECT_TRUE(database->begin_write());
    sqlite3_commit_hook(database->handle(), commits ? nullptr : [](void*) { return 1; }, nullptr);
    return database->end_turn();
  }

  std::unique_ptr<sqlite::Database> database = std::move(sqlite::Database::open(":memory:").value());
  FileTurn turn{*database};
  VerdictBoard board;
  std::vector<Result<std::vector<server::IngestAnswer>>> answers;
};

TEST_F(VerdictBoardTest, AnswersOnceEveryVerdictIsDurable) {
  enter(call({"a", "b"}));
  ASSERT_TRUE(end_turn());
  verdict("a");
  ASSERT_TRUE(end_turn());
  EXPECT_TRUE(answers.empty());
  verdict("b", Kind::scheduled);
  EXPECT_TRUE(answers.empty());
  ASSERT_TRUE(end_turn());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].value()[0].verdict.kind, Kind::now);
  EXPECT_EQ(answers[0].value()[1].verdict.kind, Kind::scheduled);
  EXPECT_FALSE(answers[0].value()[1].accepted_only);
  EXPECT_EQ(board.waiting(), 0u);
}

TEST_F(VerdictBoardTest, AnswersEveryCallThatWaitsForTheSameMessage) {
  enter(call({"a"}));
  enter(call({"a", "a"}));
  verdict("a");
  ASSERT_TRUE(end_turn());
  EXPECT_EQ(answers.size(), 2u);
  EXPECT_EQ(board.waiting(), 0u);
}

TEST_F(VerdictBoardTest, SaysAcceptedForWhatHasNoVerdictWhenTheWaitIsOver) {
  const auto waiting = call({"a", "b"});
  enter(waiting);
  verdict("a");
  ASSERT_TRUE(end_turn());
  board.expire(waiting);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_FALSE(answers[0].value()[0].accepted_only);
  EXPECT_TRUE(answers[0].value()[1].accepted_only);
  EXPECT_EQ(board.waiting(), 0u);
  verdict("b");
  ASSERT_TRUE(end_turn());
  board.expire(waiting);
  EXPECT_EQ(answers.size(), 1u);
}

TEST_F(VerdictBoardTest, NeverAnswersBeforeTheEventsAreDurableEvenWhenTheWaitIsOver) {
  const auto waiting = call({"a"});
  enter(waiting);
  board.expire(waiting);
  EXPECT_TRUE(answers.empty());
  ASSERT_TRUE(end_turn());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].value()[0].accepted_only);
}

TEST_F(VerdictBoardTest, AnswersTheErrorWhenTheEventsCouldNotBeWritten) {
  enter(call({"a"}));
  verdict("a");
  EXPECT_FALSE(end_turn(false));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_FALSE(answers[0]);
  EXPECT_EQ(board.waiting(), 0u);
}

TEST_F(VerdictBoardTest, AVerdictMayComeBeforeTheTopicAnswers) {
  const auto waiting = call({"a", "b"});
  board.enter(waiting);
  verdict("a");
  ASSERT_TRUE(end_turn());
  board.published(waiting, 0, fail(ErrorCode::timed_out, "no answer in time", true), turn);
  board.published(waiting, 1, fail(ErrorCode::unavailable, "not connected", true), turn);
  ASSERT_TRUE(end_turn());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_FALSE(answers[0].value()[0].error);
  EXPECT_EQ(answers[0].value()[0].verdict.kind, Kind::now);
  ASSERT_TRUE(answers[0].value()[1].error);
  EXPECT_EQ(answers[0].value()[1].error->code, ErrorCode::unavailable);
  EXPECT_EQ(board.waiting(), 0u);
}

TEST_F(VerdictBoardTest, WaitsForTheNextVerdictWhenOneCouldNotBeWritten) {
  enter(call({"a"}));
  ASSERT_TRUE(end_turn());
  verdict("a", Kind::now);
  EXPECT_FALSE(end_turn(false));
  EXPECT_TRUE(answers.empty());
  verdict("a", Kind::scheduled);
  ASSERT_TRUE(end_turn());
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].value()[0].verdict.kind, Kind::scheduled);
}

TEST_F(VerdictBoardTest, DurableHoldsAnAnswerUntilItsTurnIsCommitted) {
  std::vector<Result<int>> given;
  const auto keep = [&](Result<int> result) { given.push_back(std::move(result)); };
  durable<int>(turn, keep)(7);
  EXPECT_TRUE(given.empty());
  ASSERT_TRUE(end_turn());
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].value(), 7);
  durable<int>(turn, keep)(8);
  EXPECT_FALSE(end_turn(false));
  EXPECT_FALSE(given.at(1));
  durable<int>(turn, keep)(fail(ErrorCode::not_found, "no"));
  EXPECT_EQ(given.at(2).error().code, ErrorCode::not_found);
}

struct CountingSink final : broker::Sink {
  void deliver(broker::Outgoing, std::move_only_function<void(broker::SinkAnswer)>) override { ++count; }
  int count = 0;
};

TEST_F(VerdictBoardTest, ADeliveryLeavesOnlyAfterItsCommitAndNotAtAllWhenItFails) {
  CountingSink inner;
  auto sink = std::make_unique<broker::sqlite::AfterCommitSink>(*database, inner);
  sink->deliver({}, [](broker::SinkAnswer) {});
  EXPECT_EQ(inner.count, 0);
  ASSERT_TRUE(end_turn());
  EXPECT_EQ(inner.count, 1);
  sink->deliver({}, [](broker::SinkAnswer) {});
  EXPECT_FALSE(end_turn(false));
  EXPECT_EQ(inner.count, 1);
  sink->deliver({}, [](broker::SinkAnswer) {});
  sink.reset();
  ASSERT_TRUE(end_turn());
  EXPECT_EQ(inner.count, 1);
}

}  // namespace
}  // namespace dripgate::app
