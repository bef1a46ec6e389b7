// Turns: one commit, answers inside, callbacks after, participants.
#include "sqlite/database.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "support/scratch_folder.h"

namespace dripgate::sqlite {
namespace {

using dripgate::testing::ScratchFolder;

constexpr const char* kPut =
    "INSERT INTO counters(key, state, expires) VALUES(?1, ?2, 0) ON CONFLICT(key) DO UPDATE SET state=?2";
constexpr const char* kGet = "SELECT state FROM counters WHERE key=?1";

void put(Database& database, std::string_view key, std::string_view state) {
  ASSERT_TRUE(database.begin_write());
  ASSERT_TRUE(database.statement(kPut).bind(key, Blob{state}).run());
}

std::string get(Database& database, std::string_view key) {
  Statement& statement = database.statement(kGet).bind(key);
  std::string state = statement.step().value() ? std::string(statement.bytes(0)) : "none";
  statement.reset();
  return state;
}

std::unique_ptr<Database> open(const std::string& path, Options options = {}) {
  Result<std::unique_ptr<Database>> opened = Database::open(path, std::move(options));
  EXPECT_TRUE(opened) << opened.error().detail;
  return opened ? std::move(*opened) : nullptr;
}

TEST(Database, KeepsWhatATurnCommitted) {
  const ScratchFolder folder;
  const std::string path = folder.path("a.db");
  {
    auto database = open(path);
    put(*database, "a", "1");
    put(*database, "b", std::string_view("\0x", 2));
    ASSERT_TRUE(database->end_turn());
    put(*database, "c", "void");
  }
  auto database = open(path);
  EXPECT_EQ(get(*database, "a"), "1");
  EXPECT_EQ(get(*database, "b"), std::string("\0x", 2));
  EXPECT_EQ(get(*database, "c"), "none");
}

TEST(Database, RunsCallbacksOnceAfterTheCommit) {
  auto database = open(":memory:");
  int ran = 0;
  database->after_commit([&](Result<void> done) { ran += done ? 1 : 100; });
  put(*database, "a", "1");
  EXPECT_EQ(ran, 0);
  ASSERT_TRUE(database->end_turn());
  EXPECT_EQ(ran, 1);
  ASSERT_TRUE(database->end_turn());
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace dripgate::sqlite
