// Kills, failing writes and full disks: what was confirmed is there, what was not is not, and work goes on.
#include <filesystem>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>

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
using testing::erase;
using testing::get;
using testing::open;
using testing::put;

Options on(const CrashVfs& vfs, std::int64_t ballast = 0) {
  return {.vfs = vfs.name(), .ballast_bytes = ballast, .busy_wait = Duration{0}};
}

/// Turn i writes two rows that belong together and the number of the turn.
bool run_turn(Database& database, int i, std::size_t bytes) {
  const std::string state(bytes, static_cast<char>('a' + i % 26));
  (void)put(database, "left" + std::to_string(i), state);
  (void)put(database, "right" + std::to_string(i), state);
  (void)put(database, "last", std::to_string(i));
  (void)erase(database, "left" + std::to_string(i - 3));
  (void)erase(database, "right" + std::to_string(i - 3));
  bool told = false;
  database.after_commit([&](Result<void> done) { told = done.has_value(); });
  const bool ended = database.end_turn().has_value();
  EXPECT_EQ(told, ended);
  return ended;
}

int last_of(Database& database) {
  const std::string last = get(database, "last");
  return last == "none" ? 0 : std::stoi(last);
}

/// The rows say exactly that turns 1..last were committed.
void expect_whole(Database& database, int last, std::size_t bytes) {
  for (int i = 1; i <= last + 2; ++i) {
    const bool there = i <= last && i > last - 3;
    const std::string expected = there ? std::string(bytes, static_cast<char>('a' + i % 26)) : "none";
    ASSERT_EQ(get(database, "left" + std::to_string(i)), expected) << i;
    ASSERT_EQ(get(database, "right" + std::to_string(i)), expected) << i;
  }
}

struct Load {
  int turns;
  std::size_t bytes;
  std::uint64_t stride;  // of the steps at which it is killed
};

/// Kills at every (stride-th) step, opens again and compares; `keep`: part of the unsynced writes survives.
void kill_at_every_step(const Load& load, bool keep) {
  int kills = 0;
  for (std::uint64_t step = 1;; step += load.stride) {
    CrashVfs vfs;
    vfs.die_at_step(step);
    int confirmed = 0;
    {
      auto database = Database::open("a.db", on(vfs));
      for (int i = 1; database && i <= load.turns && run_turn(**database, i, load.bytes); ++i) confirmed = i;
      const bool died = vfs.fault_fired();
      if (keep) {
        vfs.kill_keeping_some(step);
      } else {
        vfs.kill();
      }
      if (!died) break;
    }
    ++kills;
    auto again = Database::open("a.db", on(vfs));
    ASSERT_TRUE(again) << "step " << step << ": " << again.error().detail;
    const int last = last_of(**again);
    ASSERT_GE(last, confirmed) << "a confirmed turn is lost at step " << step;
    ASSERT_LE(last, confirmed + (keep ? 1 : 0)) << "step " << step;
    expect_whole(**again, last, load.bytes);
    ASSERT_TRUE(run_turn(**again, last + 1, load.bytes)) << "step " << step;
    expect_whole(**again, last + 1, load.bytes);
    if (::testing::Test::HasFatalFailure()) FAIL() << "step " << step;
  }
  EXPECT_GT(kills, 50);
}

constexpr Load kShort{.turns = 12, .bytes = 300, .stride = 1};
constexpr Load kWithCheckpoints{.turns = 60, .bytes = 50'000, .stride = 29};

TEST(Kill, AtEveryStepLosesNothingConfirmed) {
  kill_at_every_step(kShort, false);
}
TEST(Kill, AtEveryStepWithTornWritesLosesNothingConfirmed) {
  kill_at_every_step(kShort, true);
}
TEST(Kill, AroundCheckpointsLosesNothingConfirmed) {
  kill_at_every_step(kWithCheckpoints, false);
}
TEST(Kill, AroundCheckpointsWithTornWritesLosesNothingConfirmed) {
  kill_at_every_step(kWithCheckpoints, true);
}

// One write or sync fails, the process lives on: the failed turn is void, those before and after it hold.
void fail_at_every_step(const Load& load) {
  int failures = 0;
  for (std::uint64_t step = 1;; step += load.stride) {
    CrashVfs vfs;
    vfs.fail_step(step);
    auto database = Database::open("a.db", on(vfs));
    if (!database) {
      ASSERT_TRUE(vfs.fault_fired()) << database.error().detail;
      database = Database::open("a.db", on(vfs));
      ASSERT_TRUE(database) << "step " << step << ": " << database.error().detail;
    }
    int done = 0;
    int tries = 0;
    for (; done < load.turns && tries < load.turns + 2; ++tries) {
      if (run_turn(**database, done + 1, load.bytes)) ++done;
      ASSERT_EQ(last_of(**database), done) << "step " << step;
    }
    ASSERT_EQ(done, load.turns) << "step " << step << ": one failure voided more than one turn";
    expect_whole(**database, done, load.bytes);
    const bool fired = vfs.fault_fired();
    if (tries > load.turns) ++failures;
    vfs.kill();
    auto again = Database::open("a.db", on(vfs));
    ASSERT_TRUE(again) << again.error().detail;
    ASSERT_EQ(last_of(**again), load.turns) << "step " << step;
    expect_whole(**again, load.turns, load.bytes);
    if (::testing::Test::HasFatalFailure()) FAIL() << "step " << step;
    if (!fired) break;
  }
  EXPECT_GT(failures, 10);
}

TEST(FailingDisk, VoidsOneTurn) {
  fail_at_every_step(kShort);
}
TEST(FailingDisk, AroundCheckpointsVoidsAtMostOneTurn) {
  fail_at_every_step(kWithCheckpoints);
}

/// Fills the file, goes on with small turns, and recovers once `make_room` has made some.
void live_through_a_full_disk(Database& database, const std::function<void()>& make_room) {
  const std::string big(64 << 10, 'x');
  int stored = 0;
  EXPECT_FALSE(database.low_on_space());
  Result<void> ended;
  for (; ended && stored < 10'000; ++stored) {
    ErrorCode told{};
    database.after_commit([&](Result<void> done) { told = done ? ErrorCode{} : done.error().code; });
    (void)put(database, "big" + std::to_string(stored), big);
    ended = database.end_turn();
    if (!ended) EXPECT_EQ(told, ErrorCode::full);
  }
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::full) << ended.error().detail;
  EXPECT_TRUE(ended.error().transient);
  EXPECT_NE(ended.error().detail.find("no space is left"), std::string::npos) << ended.error().detail;
  ASSERT_GT(stored, 10);
  EXPECT_EQ(get(database, "big" + std::to_string(stored - 1)), "none");
  EXPECT_EQ(get(database, "big" + std::to_string(stored - 2)), big);
  // What is booked goes on: updates, small rows for the overflow topic, deletes.
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(database.low_on_space()) << i;
    ASSERT_TRUE(put(database, "state", "turn " + std::to_string(i)));
    ASSERT_TRUE(put(database, "small" + std::to_string(i), std::string(600, 's')));
    const Result<void> small = database.end_turn();
    ASSERT_TRUE(small) << i << ": " << small.error().detail;
  }
  make_room();
  for (int i = 0; i < 3; ++i) {
    (void)database.low_on_space();
    ASSERT_TRUE(database.end_turn());
  }
  EXPECT_FALSE(database.low_on_space());
  ASSERT_TRUE(put(database, "again", big));
  EXPECT_TRUE(database.end_turn());
  EXPECT_EQ(query_integer(database.handle(), "SELECT COUNT(*) FROM counters WHERE key LIKE 'small%'"), 300);
}

TEST(FullDisk, LeavesRoomForWhatIsBooked) {
  CrashVfs vfs;
  vfs.set_allocation(true);
  vfs.set_capacity(24u << 20);
  auto database = open("a.db", on(vfs, kBallastBytes));
  live_through_a_full_disk(*database, [&] { vfs.set_capacity(48u << 20); });
}

TEST(FullDisk, IsAlsoABoundOfTheFile) {
  const ScratchFolder folder;
  auto database = open(folder.path("a.db"), {.max_bytes = 16 << 20});
  live_through_a_full_disk(*database, [&] {
    ASSERT_TRUE(database->begin_write());
    ASSERT_TRUE(database->statement("DELETE FROM counters WHERE key LIKE 'big%'").run());
  });
}

TEST(FullDisk, OnARealFileSystem) {
  const SmallDisk disk("28m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small file system needs root";
  const std::string filler = disk.path("filler");
  std::ofstream(filler) << std::string(6 << 20, 'f');
  const std::string path = disk.path("a.db");
  auto database = open(path, {.exclusive_owner = true});
  live_through_a_full_disk(*database, [&] { std::filesystem::remove(filler); });
}

TEST(FullDisk, IsStillFullAfterARestartAndStillServes) {
  const SmallDisk disk("24m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small file system needs root";
  const std::string path = disk.path("a.db");
  auto database = open(path);
  for (int i = 0; put(*database, std::to_string(i), std::string(64 << 10, 'x')) && database->end_turn();) ++i;
  std::ofstream filler(disk.path("filler"));
  for (int i = 0; i < 1024 && filler; ++i) filler << std::string(64 << 10, 'f') << std::flush;
  filler.close();
  database.reset();
  database = open(path);
  ASSERT_NE(database, nullptr);
  EXPECT_TRUE(database->low_on_space());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(put(*database, "state", std::to_string(i)));
    ASSERT_TRUE(database->end_turn());
  }
  EXPECT_EQ(get(*database, "state"), "99");
}

}  // namespace
}  // namespace dripgate::sqlite
