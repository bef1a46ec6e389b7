// The SQLite stores against the file: one write of a hot row per turn, bounded memory and bounded sweeping,
// rollback, rows that are damaged.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "sqlite/database.h"
#include "store/sqlite/row_cache.h"
#include "store/sqlite/stores.h"
#include "store/sqlite/sweeper.h"
#include "support/virtual_time.h"

namespace dripgate::store {
namespace {

using core::ReserveOutcome;
using testing::kT0;
using testing::VirtualClock;

class SqliteStores : public ::testing::Test {
 protected:
  static std::unique_ptr<sqlite::Database> open() {
    auto opened = sqlite::Database::open(":memory:");
    EXPECT_TRUE(opened) << opened.error().detail;
    return *std::move(opened);
  }
  Result<core::ReserveAnswer> reserve(const std::string& key, const std::string& id) {
    Result<core::ReserveAnswer> got = fail(ErrorCode::timed_out, "done never ran");
    bookings->reserve({.key = key,
                       .event_id = id,
                       .body_digest = 0,
                       .cost = 1,
                       .first_received = {},
                       .after_generation = {},
                       .policy = policy},
                      [&](auto answer) { got = std::move(answer); });
    return got;
  }
  Result<core::Decision> consume(const std::string& key) {
    Result<core::Decision> got = fail(ErrorCode::timed_out, "done never ran");
    const core::Limit limit{.algorithm = core::Algorithm::fixed_window,
                            .limit = 5,
                            .window = 60s,
                            .capacity = 5,
                            .zone = nullptr};
    counters->consume({{.key = key, .limit = limit, .cost = 1}},
                      [&](auto answer) { got = std::move(answer); });
    return got;
  }
  std::int64_t number(const char* sql) {
    sqlite::Statement& query = database->statement(sql);
    const auto row = query.step();
    EXPECT_TRUE(row && *row) << sql;
    const std::int64_t value = query.integer(0);
    query.reset();
    return value;
  }
  int changes() { return sqlite3_total_changes(database->handle()); }
  void end_turn() { EXPECT_TRUE(database->end_turn()); }
  core::BookingPolicyPtr policy_with(Duration retention) {
    core::BookingPolicy made;
    made.limits = {{.algorithm = core::Algorithm::fixed_window,
                    .limit = 10,
                    .window = 60s,
                    .capacity = 10,
                    .zone = nullptr}};
    made.spread = core::Spread::start;
    made.id_retention = retention;
    return std::make_shared<core::BookingPolicy>(made);
  }

  VirtualClock clock;
  std::unique_ptr<sqlite::Database> database = open();
  std::unique_ptr<BookingStore> bookings = make_sqlite_booking_store(*database, clock);
  std::unique_ptr<CounterStore> counters = make_sqlite_counter_store(*database, clock);
  core::BookingPolicyPtr policy = policy_with(24h);
};

TEST_F(SqliteStores, WriteAHotKeyOncePerTurn) {
  const int before = changes();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(reserve("hot", std::to_string(i)));
  EXPECT_EQ(changes(), before);  // nothing before the end of the turn
  end_turn();
  EXPECT_EQ(changes() - before, 100 + 1 + 1);  // the events, the key, the store's clock
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(consume("hot"));
  const int counted = changes();
  end_turn();
  EXPECT_EQ(changes() - counted, 1);  // the counter; the clock has not moved
}

TEST_F(SqliteStores, WriteNothingForDenialsAndRepeatsOfCounters) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(consume("k"));
  end_turn();
  const int before = changes();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(consume("k")->verdict, core::Verdict::deny);
  end_turn();
  EXPECT_EQ(changes(), before);
}

TEST_F(SqliteStores, AnswerFromTheFileAfterARollback) {
  ASSERT_EQ(reserve("k", "kept")->outcome, ReserveOutcome::now);
  ASSERT_TRUE(consume("k"));
  end_turn();
  for (int i = 0; i < 9; ++i) ASSERT_EQ(reserve("k", std::to_string(i))->outcome, ReserveOutcome::now);
  ASSERT_EQ(reserve("k", "void")->outcome, ReserveOutcome::at);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(consume("k")->verdict, core::Verdict::allow);
  // A statement of the same turn fails: the turn is void.
  EXPECT_FALSE(
      database->statement("INSERT INTO counters (key, state, expires) VALUES (NULL, NULL, NULL)").run());
  EXPECT_FALSE(database->end_turn());
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(reserve("k", "again" + std::to_string(i))->outcome, ReserveOutcome::now);
  }
  EXPECT_EQ(reserve("k", "void")->outcome, ReserveOutcome::at);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(consume("k")->verdict, core::Verdict::allow);
  EXPECT_EQ(consume("k")->verdict, core::Verdict::deny);
  end_turn();
}

TEST_F(SqliteStores, SweepExpiredRowsInSmallBatchesAndEndWithNone) {
  policy = policy_with(1min);
  constexpr int kRows = 1000;
  for (int i = 0; i < kRows; ++i) {
    ASSERT_TRUE(reserve("key" + std::to_string(i), "e"));
    ASSERT_TRUE(consume("key" + std::to_string(i)));
  }
  end_turn();
  EXPECT_EQ(number("SELECT count(*) FROM events"), kRows);
  clock.advance(std::chrono::hours{24 * 100});
  int turns = 0;
  while (number("SELECT count(*) FROM events WHERE id = 'e'") > 0 ||
         number("SELECT count(*) FROM booking_keys WHERE key LIKE 'key%'") > 0 ||
         number("SELECT count(*) FROM counters WHERE key LIKE 'key%'") > 0) {
    const int before = changes();
    ASSERT_TRUE(reserve("new", "n" + std::to_string(turns)));
    ASSERT_TRUE(consume("new"));
    end_turn();
    // Own rows of this turn: an event, a key, a counter, the clock twice; the rest was swept.
    EXPECT_LE(changes() - before, static_cast<int>(5 + 3 * (kSweepRowsMin + 2 * kSweepRowsPerWrite)));
    ASSERT_LT(++turns, 3 * kRows / static_cast<int>(kSweepRowsMin));
    clock.advance(61s);
  }
  EXPECT_GT(turns, 10);
}

TEST_F(SqliteStores, SweepWhileTheTableGrowsAndNeverTakeALiveRow) {
  policy = policy_with(1min);
  for (int turn = 0; turn < 300; ++turn) {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(consume(std::to_string(turn) + "/" + std::to_string(i)));
    end_turn();
    EXPECT_EQ(consume(std::to_string(turn) + "/0")->outcomes[0].remaining, 3);
    clock.advance(10s);
  }
  // Counters live for at most a minute: six turns of twenty, and as many again that wait for the round.
  EXPECT_LT(number("SELECT count(*) FROM counters"), 1000);
}

TEST_F(SqliteStores, SayWhichRowIsDamaged) {
  ASSERT_TRUE(reserve("k", "e"));
  ASSERT_TRUE(consume("k"));
  end_turn();
  bookings = nullptr;
  counters = nullptr;
  for (const char* sql :
       {"UPDATE booking_keys SET state = x'ff00'", "UPDATE counters SET state = x'ff00' WHERE key = 'k'"}) {
    ASSERT_TRUE(database->begin_write());
    ASSERT_TRUE(database->statement(sql).run());
  }
  end_turn();
  bookings = make_sqlite_booking_store(*database, clock);
  counters = make_sqlite_counter_store(*database, clock);
  const auto booking = reserve("k", "e2");
  ASSERT_FALSE(booking);
  EXPECT_NE(booking.error().detail.find("booking_keys row of key 'k'"), std::string::npos)
      << booking.error().detail;
  const auto counter = consume("k");
  ASSERT_FALSE(counter);
  EXPECT_NE(counter.error().detail.find("counters row of key 'k'"), std::string::npos)
      << counter.error().detail;
  // Other rows still work.
  EXPECT_TRUE(reserve("other", "e"));
  EXPECT_TRUE(consume("other"));
}

TEST(RowCache, KeepsABoundedNumberOfCleanRowsAndEveryDirtyOne) {
  RowCache<int, int> rows;
  const auto load = [](int& row) -> Result<void> {
    row = 1;
    return {};
  };
  std::size_t largest = 0;
  for (int i = 0; i < 20000; ++i) {
    rows.trim();
    auto slot = rows.open(i, load);
    ASSERT_TRUE(slot);
    if (i % 100 == 0) rows.mark(**slot);
    largest = std::max(largest, rows.size());
  }
  EXPECT_LE(largest, kCleanRowsMax + 2 * 200 + 1);
  int written = 0;
  ASSERT_TRUE(rows.flush([&](int name, int) -> Result<void> {
    EXPECT_EQ(name % 100, 0);
    ++written;
    return {};
  }));
  EXPECT_EQ(written, 200);
  EXPECT_EQ(rows.dirty(), 0u);
}

}  // namespace
}  // namespace dripgate::store
