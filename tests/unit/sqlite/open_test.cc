// What Database::open refuses, with which words, and that it leaves such files alone.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rows.h"
#include "sqlite/schema.h"
#include "support/crash_vfs.h"
#include "support/scratch_folder.h"
#include "support/small_disk.h"

namespace dripgate::sqlite {
namespace {

using dripgate::testing::CrashVfs;
using dripgate::testing::ScratchFolder;
using dripgate::testing::SmallDisk;
using testing::get;
using testing::open;
using testing::open_error;
using testing::put;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Runs statements on a file with plain SQLite, as another program would.
void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  char* words = nullptr;
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &words), SQLITE_OK) << words;
  sqlite3_close(handle);
}

TEST(OpenDatabase, RefusesAFileThatIsNoDatabase) {
  const ScratchFolder folder;
  const std::string path = folder.path("a.db");
  for (const std::string& bytes :
       {std::string("xy"), std::string(5000, 'x'), std::string("SQLite format 3"), std::string(4096, '\0')}) {
    write_file(path, bytes);
    const Error error = open_error(path);
    EXPECT_EQ(error.code, ErrorCode::corrupt);
    EXPECT_NE(error.detail.find(path), std::string::npos) << error.detail;
    EXPECT_TRUE(read_file(path) == bytes) << "changed";
  }
}

TEST(OpenDatabase, RefusesTheDatabaseOfAnotherProgramAndLeavesItAlone) {
  const ScratchFolder folder;
  const std::string plain = folder.path("plain.db");
  const std::string logged = folder.path("logged.db");
  run_sql(plain, "CREATE TABLE mine(a); INSERT INTO mine VALUES(1)");
  run_sql(logged, "PRAGMA application_id=77; PRAGMA journal_mode=WAL; CREATE TABLE mine(a)");
  for (const std::string& path : {plain, logged}) {
    const std::string before = read_file(path);
    const Error error = open_error(path);
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_NE(error.detail.find("another program"), std::string::npos) << error.detail;
    EXPECT_TRUE(read_file(path) == before);
    EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
  }
}

TEST(OpenDatabase, RefusesANewerVersionAndLeavesItAlone) {
  const ScratchFolder folder;
  const std::string path = folder.path("a.db");
  {
    ASSERT_TRUE(put(*open(path), "a", "1"));
  }
  std::filesystem::remove(path + "-wal");
  run_sql(path, "PRAGMA user_version=" + std::to_string(kSchemaVersion + 1));
  const std::string before = read_file(path);
  const Error error = open_error(path);
  EXPECT_EQ(error.code, ErrorCode::newer_version);
  EXPECT_NE(error.detail.find("newer Dripgate"), std::string::npos) << error.detail;
  EXPECT_TRUE(read_file(path) == before);
  run_sql(path, "PRAGMA user_version=0");
  EXPECT_EQ(open_error(path).code, ErrorCode::corrupt);
}

TEST(OpenDatabase, RefusesASecondOwner) {
  const ScratchFolder folder;
  const std::string path = folder.path("a.db");
  {
    auto owner = open(path, {.exclusive_owner = true});
    const Error error = open_error(path, {.exclusive_owner = true});
    EXPECT_EQ(error.code, ErrorCode::locked);
    EXPECT_NE(error.detail.find("another Dripgate process owns it"), std::string::npos) << error.detail;
    ASSERT_TRUE(put(*owner, "a", "1"));
    ASSERT_TRUE(owner->end_turn());
    EXPECT_EQ(get(*open(path), "a"), "1") << "who only looks may open it";
  }
  EXPECT_NE(open(path, {.exclusive_owner = true}), nullptr);
}

TEST(OpenDatabase, HasOneOwnerUnderAllItsNames) {
  const ScratchFolder folder;
  const std::string path = folder.path("a.db");
  const std::string link = folder.path("link.db");
  auto owner = open(path, {.exclusive_owner = true});
  ASSERT_TRUE(put(*owner, "a", "1"));
  ASSERT_TRUE(owner->end_turn());
  std::filesystem::create_symlink(path, link);
  EXPECT_EQ(open_error(link, {.exclusive_owner = true}).code, ErrorCode::locked);
  owner.reset();
  EXPECT_NE(open(link, {.exclusive_owner = true}), nullptr);
  const std::string second = folder.path("second.db");
  std::filesystem::create_hard_link(path, second);
  for (const std::string& name : {path, second}) {
    const Error error = open_error(name, {.exclusive_owner = true});
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_NE(error.detail.find("hard links"), std::string::npos) << error.detail;
  }
}

TEST(OpenDatabase, RefusesAnEmptyFileBesideItsLog) {
  const ScratchFolder folder;
  const std::string path = folder.path("a.db");
  {
    auto database = open(path);
    ASSERT_TRUE(put(*database, "a", "1"));
    ASSERT_TRUE(database->end_turn());
  }
  ASSERT_TRUE(std::filesystem::exists(path + "-wal"));
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(open_error(path).code, ErrorCode::corrupt);
  EXPECT_EQ(open_error(path, {.exclusive_owner = true}).code, ErrorCode::corrupt);
}

TEST(OpenDatabase, SaysWhenTheFolderIsMissingOrMayNotBeWritten) {
  const ScratchFolder folder;
  for (const bool owner : {false, true}) {
    const Error error = open_error(folder.path("none/a.db"), {.exclusive_owner = owner});
    EXPECT_EQ(error.code, ErrorCode::io);
    EXPECT_NE(error.detail.find("writable"), std::string::npos) << error.detail;
  }
  if (::geteuid() != 0) {
    ASSERT_EQ(::chmod(folder.path("").c_str(), 0500), 0);
    EXPECT_EQ(open_error(folder.path("a.db")).code, ErrorCode::io);
    ASSERT_EQ(::chmod(folder.path("").c_str(), 0700), 0);
  }
}

TEST(OpenDatabase, SaysWhenTheFileMayOnlyBeRead) {
  const SmallDisk disk("32m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a file system needs root";
  const std::string path = disk.path("a.db");
  {
    ASSERT_TRUE(put(*open(path), "a", "1"));
  }
  ASSERT_TRUE(disk.make_read_only());
  const std::string before = read_file(path);
  const Error error = open_error(path);
  EXPECT_EQ(error.code, ErrorCode::io) << error.detail;
  EXPECT_NE(error.detail.find("writable"), std::string::npos) << error.detail;
  EXPECT_EQ(open_error(disk.path("new.db")).code, ErrorCode::io);
  EXPECT_TRUE(read_file(path) == before);
}

TEST(OpenDatabase, KeepsItsFilesPrivate) {
  const ScratchFolder folder;
  const std::string path = folder.path("a.db");
  auto database = open(path);
  for (const std::string& file : {path, path + "-wal"}) {
    struct stat status{};
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << file;
  }
}

TEST(OpenDatabase, FindsDamageInsideAndInTheSchema) {
  CrashVfs vfs;
  {
    ASSERT_TRUE(put(*open("a.db", {.vfs = vfs.name()}), "a", "1"));
  }
  const std::string whole = *vfs.contents("a.db");
  std::string torn = whole.substr(0, whole.size() / 2);
  std::string schema = whole;
  schema.replace(schema.find("messages_by_id ON messages(topic, id)"), 14, "messages_by_xx");
  for (const std::string& bytes : {torn, schema}) {
    CrashVfs other;
    other.put("a.db", bytes);
    const Error error = open_error("a.db", {.vfs = other.name()});
    EXPECT_EQ(error.code, ErrorCode::corrupt) << error.detail;
    EXPECT_TRUE(*other.contents("a.db") == bytes) << "changed";
  }
}

// Whatever bytes are in the file: an error or an answer, never a crash. Run under the address sanitizer too.
TEST(OpenDatabase, SurvivesRandomDamage) {
  std::string data;
  std::string log;
  {
    CrashVfs vfs;
    auto database = open("a.db", {.vfs = vfs.name(), .ballast_bytes = 0});
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(put(*database, "key" + std::to_string(i), std::string(i, 'x')));
    ASSERT_TRUE(database->end_turn());
    database.reset();
    database = open("a.db", {.vfs = vfs.name(), .ballast_bytes = 0});
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(put(*database, "log" + std::to_string(i), std::string(i, 'y')));
    ASSERT_TRUE(database->end_turn());
    data = *vfs.contents("a.db");
    log = *vfs.contents("a.db-wal");
  }
  int opened = 0;
  int refused = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    std::mt19937 random(seed);
    std::string bytes = data;
    std::string log_bytes = log;
    std::string& hurt = random() % 4 == 0 ? log_bytes : bytes;
    for (unsigned flips = 1 + random() % 8; flips > 0; --flips) {
      hurt[random() % hurt.size()] ^= static_cast<char>(1u << random() % 8);
    }
    if (random() % 8 == 0) hurt.resize(random() % hurt.size());
    CrashVfs vfs;
    vfs.put("a.db", bytes);
    vfs.put("a.db-wal", log_bytes);
    auto database = Database::open("a.db", {.vfs = vfs.name(), .ballast_bytes = 0});
    ++(database ? opened : refused);
    if (!database) {
      EXPECT_FALSE(database.error().detail.empty());
      continue;
    }
    for (int i = 0; i < 200; i += 7) (void)get(**database, "key" + std::to_string(i));
    for (int i = 0; i < 200; i += 3) (void)put(**database, "key" + std::to_string(i), std::string(300, 'z'));
    (void)(*database)->end_turn();
    (void)testing::erase(**database, "key3");
    (void)(*database)->end_turn();
  }
  EXPECT_GT(opened, 50);
  EXPECT_GT(refused, 50);
}

TEST(SchemaVersions, OpenTheFirstOne) {
  const ScratchFolder folder;
  const std::string path = folder.path("a.db");
  run_sql(path, read_file(DRIPGATE_SOURCE_DIR "/tests/unit/sqlite/version_1.sql"));
  auto database = open(path);
  ASSERT_NE(database, nullptr);
  EXPECT_EQ(get(*database, "acme"), std::string("\1\2"));
  EXPECT_EQ(query_integer(database->handle(), "SELECT COUNT(*) FROM messages"), 1);
  EXPECT_EQ(query_integer(database->handle(), "PRAGMA user_version"), kSchemaVersion);
}

TEST(SchemaVersions, AreReachedByAllStepsOrNone) {
  const ScratchFolder folder;
  const std::string path = folder.path("a.db");
  auto database = open(path);
  ASSERT_TRUE(put(*database, "a", "1"));
  ASSERT_TRUE(database->end_turn());
  sqlite3* handle = database->handle();
  const Migration good[] = {{2, "CREATE TABLE third(a)"},
                            {1, "CREATE TABLE second(a); INSERT INTO second VALUES(7)"}};
  const Migration broken[] = {{1, "CREATE TABLE second(a)"}, {2, "CREATE TABLE second(a)"}};
  EXPECT_FALSE(migrate(handle, 1, 3, broken));
  EXPECT_EQ(query_integer(handle, "PRAGMA user_version"), 1);
  EXPECT_EQ(query_integer(handle, "SELECT COUNT(*) FROM sqlite_schema WHERE name='second'"), 0);
  EXPECT_FALSE(migrate(handle, 1, 4, good)) << "no way from 3";
  EXPECT_EQ(query_integer(handle, "PRAGMA user_version"), 1);
  ASSERT_TRUE(migrate(handle, 1, 3, good));
  EXPECT_EQ(query_integer(handle, "PRAGMA user_version"), 3);
  EXPECT_EQ(query_integer(handle, "SELECT a FROM second"), 7);
  EXPECT_EQ(get(*database, "a"), "1");
}

}  // namespace
}  // namespace dripgate::sqlite
