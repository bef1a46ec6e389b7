// Turns: one commit, answers inside, callbacks after, participants, two connections.
#include "sqlite/database.h"

#include <gtest/gtest.h>

#include "rows.h"
#include "support/crash_vfs.h"
#include "support/scratch_folder.h"

namespace dripgate::sqlite {
namespace {

using dripgate::testing::CrashVfs;
using dripgate::testing::ScratchFolder;
using testing::erase;
using testing::get;
using testing::open;
using testing::put;

/// Keeps a number in memory and writes it once per turn.
class Sum final : public Participant {
 public:
  explicit Sum(Database& database) : database_(database) { database_.join(this); }
  ~Sum() override { database_.leave(this); }
  Result<void> add(int number) {
    if (Result<void> begun = database_.begin_write(); !begun) return begun;
    load();
    *sum_ += number;
    return {};
  }
  int value() {
    EXPECT_TRUE(database_.begin_read());
    load();
    return *sum_;
  }
  Result<void> flush() override {
    ++flushes;
    if (fail_flush) return fail(ErrorCode::io, "flush failed");
    return sum_ ? put(database_, "sum", std::to_string(*sum_)) : Result<void>{};
  }
  void forget() override {
    ++forgets;
    sum_.reset();
  }
  int flushes = 0;
  int forgets = 0;
  bool fail_flush = false;

 private:
  void load() {
    if (sum_) return;
    const std::string text = get(database_, "sum");
    sum_ = text == "none" ? 0 : std::stoi(text);
  }
  Database& database_;
  std::optional<int> sum_;
};

TEST(Database, KeepsWhatATurnCommittedAndNothingElse) {
  const ScratchFolder folder;
  const std::string path = folder.path("a.db");
  {
    auto database = open(path);
    ASSERT_TRUE(put(*database, "a", "1"));
    ASSERT_TRUE(put(*database, "b", std::string_view("\0x", 2)));
    ASSERT_TRUE(put(*database, "empty", ""));
    ASSERT_TRUE(database->end_turn());
    ASSERT_TRUE(put(*database, "c", "void"));
  }
  auto database = open(path);
  EXPECT_EQ(get(*database, "a"), "1");
  EXPECT_EQ(get(*database, "b"), std::string("\0x", 2));
  EXPECT_EQ(get(*database, "empty"), "");
  EXPECT_EQ(get(*database, "c"), "none");
}

TEST(Database, RunsCallbacksOnceAfterTheCommit) {
  auto database = open(":memory:");
  int ran = 0;
  database->after_commit([&](Result<void> done) { ran += done ? 1 : 100; });
  ASSERT_TRUE(put(*database, "a", "1"));
  EXPECT_EQ(ran, 0);
  ASSERT_TRUE(database->end_turn());
  EXPECT_EQ(ran, 1);
  ASSERT_TRUE(database->end_turn());
  EXPECT_EQ(ran, 1);
}

TEST(Database, CommitsWhatACallbackWrote) {
  const ScratchFolder folder;
  auto database = open(folder.path("a.db"));
  auto reader = open(folder.path("a.db"));
  int order = 0;
  database->after_commit([&](Result<void>) {
    ASSERT_TRUE(put(*database, "b", "2"));
    database->after_commit([&](Result<void> done) { order = done ? 2 : -1; });
  });
  ASSERT_TRUE(put(*database, "a", "1"));
  ASSERT_TRUE(database->end_turn());
  EXPECT_EQ(order, 2);
  EXPECT_EQ(get(*reader, "b"), "2");
}

TEST(Database, FlushesParticipantsOncePerTurn) {
  auto database = open(":memory:");
  Sum sum(*database);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(sum.add(1));
  ASSERT_TRUE(database->end_turn());
  EXPECT_EQ(sum.flushes, 1);
  EXPECT_EQ(get(*database, "sum"), "10");
  ASSERT_TRUE(database->end_turn());
  EXPECT_EQ(sum.flushes, 1) << "a turn without writes has nothing to flush";
}

TEST(Database, VoidsTheWholeTurnWhenAParticipantCannotFlush) {
  auto database = open(":memory:");
  Sum sum(*database);
  ASSERT_TRUE(sum.add(1));
  ASSERT_TRUE(database->end_turn());
  ErrorCode told{};
  database->after_commit([&](Result<void> done) { told = done ? ErrorCode{} : done.error().code; });
  ASSERT_TRUE(put(*database, "a", "1"));
  ASSERT_TRUE(sum.add(5));
  sum.fail_flush = true;
  const Result<void> ended = database->end_turn();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().detail, "flush failed");
  EXPECT_EQ(told, ErrorCode::io);
  EXPECT_EQ(get(*database, "a"), "none");
  sum.fail_flush = false;
  EXPECT_EQ(sum.value(), 1);
  ASSERT_TRUE(sum.add(1));
  ASSERT_TRUE(database->end_turn());
  EXPECT_EQ(get(*database, "sum"), "2");
}

TEST(Database, TakesNoMoreWritesInATurnThatHasFailed) {
  CrashVfs vfs;
  auto database = open("a.db", {.vfs = vfs.name(), .ballast_bytes = 0});
  ASSERT_TRUE(put(*database, "before", "1"));
  ASSERT_TRUE(database->end_turn());
  vfs.set_capacity(vfs.bytes_used() + 100'000);
  // Larger than the page cache: it spills into the log, and fails, inside the turn.
  const Result<void> written = put(*database, "a", std::string(20 << 20, 'x'));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::full);
  EXPECT_FALSE(put(*database, "b", "would be on its own"));
  EXPECT_FALSE(database->begin_read());
  int told = 0;
  database->after_commit([&](Result<void> done) { told += done ? 100 : 1; });
  EXPECT_FALSE(database->end_turn());
  EXPECT_EQ(told, 1);
  EXPECT_EQ(get(*database, "b"), "none");
  EXPECT_EQ(get(*database, "before"), "1");
  ASSERT_TRUE(put(*database, "after", "1"));
  EXPECT_TRUE(database->end_turn());
}

TEST(Database, SharesAFileWithAnotherConnectionTurnByTurn) {
  const ScratchFolder folder;
  auto one = open(folder.path("a.db"));
  auto two = open(folder.path("a.db"));
  Sum sum_one(*one);
  Sum sum_two(*two);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(sum_one.add(1));
    ASSERT_TRUE(one->end_turn());
    ASSERT_TRUE(sum_two.add(1));
    ASSERT_TRUE(two->end_turn());
    ASSERT_EQ(sum_one.value(), 2 * i + 2);
  }
  EXPECT_EQ(get(*one, "sum"), "100");
  const int forgets = sum_two.forgets;
  ASSERT_TRUE(sum_two.add(1));
  ASSERT_TRUE(two->end_turn());
  ASSERT_TRUE(sum_two.add(1));
  ASSERT_TRUE(two->end_turn());
  EXPECT_EQ(sum_two.forgets, forgets) << "its own commits change nothing for it";
}

TEST(Database, SaysLockedWhenAnotherTurnDoesNotEnd) {
  const ScratchFolder folder;
  auto one = open(folder.path("a.db"));
  auto two = open(folder.path("a.db"), {.busy_wait = Duration{0}});
  ASSERT_TRUE(put(*one, "a", "1"));
  const Result<void> refused = put(*two, "b", "2");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::locked);
  EXPECT_TRUE(refused.error().transient);
  EXPECT_FALSE(two->end_turn());
  ASSERT_TRUE(one->end_turn());
  ASSERT_TRUE(put(*two, "b", "2"));
  EXPECT_TRUE(two->end_turn());
  EXPECT_EQ(get(*one, "b"), "2");
}

TEST(Database, ReusesAStatementByItsText) {
  auto database = open(":memory:");
  const std::string text = "SELECT 1";
  EXPECT_EQ(&database->statement("SELECT 1"), &database->statement(text.c_str()));
  EXPECT_DEATH((void)database->statement("SELEC 1"), "cannot prepare 'SELEC 1'");
}

TEST(Database, BindsTextAndBlobsAsTheyAre) {
  auto database = open(":memory:");
  Statement& types = database->statement("SELECT typeof(?1), typeof(?2), typeof(?3), typeof(?4), ?5, ?1");
  ASSERT_TRUE(
      types.bind("text", Blob{"blob"}, std::string_view{}, Blob{}, std::uint64_t{1} << 40).step().value());
  EXPECT_EQ(types.bytes(0), "text");
  EXPECT_EQ(types.bytes(1), "blob");
  EXPECT_EQ(types.bytes(2), "text") << "empty is not nothing";
  EXPECT_EQ(types.bytes(3), "blob");
  EXPECT_EQ(types.integer(4), std::int64_t{1} << 40);
  EXPECT_EQ(types.bytes(5), "text");
  EXPECT_FALSE(types.is_null(5));
}

TEST(Database, KeepsItsLogShortWhileTurnsGoOn) {
  CrashVfs vfs;
  auto database = open("a.db", {.vfs = vfs.name()});
  for (int i = 0; i < 400; ++i) {
    ASSERT_TRUE(put(*database, "k" + std::to_string(i % 10), std::string(40'000, 'x')));
    ASSERT_TRUE(database->end_turn());
  }
  EXPECT_LT(vfs.contents("a.db-wal")->size(), 5u << 20);
}

}  // namespace
}  // namespace dripgate::sqlite
