// What only the embedded broker does: turns that fail, two connections on one file, the work of one event
// however long the backlog.
#include <set>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "broker/attribute_names.h"
#include "broker/sqlite/rows.h"
#include "side.h"

namespace dripgate::broker::sqlite {
namespace {

TEST_F(SqliteBroker, BringsBackWhatAFailedTurnHadSettled) {
  Side side(vfs_, executor_, clock_);
  std::vector<Delivery> got;
  auto source = listen(side, "payouts", got);
  auto timer = side.broker.timer("payouts");
  std::vector<FiredEntry> fired;
  timer->start([&](FiredEntry entry) { fired.push_back(std::move(entry)); });
  ASSERT_TRUE(publish(side, "payouts", message("a")));
  timer->schedule({"t", kT0, message("t")}, [](Result<void> done) { ASSERT_TRUE(done); });
  ASSERT_TRUE(side.end_turn());
  executor_.run_for(1s);
  ASSERT_EQ(got.size(), 1u);
  ASSERT_EQ(fired.size(), 1u);
  TimerStats stats;
  timer->stats([&](Result<TimerStats> answer) { stats = answer.value(); });
  ASSERT_EQ(stats.pending, 1u);

  source->ack(got[0].token, [](Result<void> done) { EXPECT_TRUE(done); });
  timer->settle(fired[0].token, [](Result<void> done) { EXPECT_TRUE(done); });
  ASSERT_TRUE(publish(side, "payouts", message("void")));
  vfs_.fail_step(1);
  EXPECT_FALSE(side.end_turn());
  executor_.run_for(1s);
  ASSERT_TRUE(side.end_turn());
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].message.id, "a");
  ASSERT_EQ(fired.size(), 2u);
  EXPECT_EQ(fired[1].entry.id, "t");
  timer->stats([&](Result<TimerStats> answer) { stats = answer.value(); });
  EXPECT_EQ(stats.pending, 1u);
}

TEST_F(SqliteBroker, NeverLetsAnOldTokenSettleANewMessage) {
  Side side(vfs_, executor_, clock_);
  ASSERT_TRUE(publish(side, "payouts", message("first")));
  ASSERT_TRUE(side.end_turn());
  std::vector<Delivery> got;
  auto source = listen(side, "payouts", got);
  executor_.run_ready();
  source->ack(got.at(0).token, [](Result<void> done) { ASSERT_TRUE(done); });
  ASSERT_TRUE(side.end_turn());
  got.clear();
  ASSERT_TRUE(publish(side, "payouts", message("void")));
  executor_.run_ready();
  ASSERT_EQ(got.size(), 1u);
  vfs_.fail_step(1);
  ASSERT_FALSE(side.end_turn());
  ASSERT_TRUE(publish(side, "payouts", message("kept")));
  ASSERT_TRUE(side.end_turn());
  source->ack(got[0].token, [](Result<void>) {});
  ASSERT_TRUE(side.end_turn());
  executor_.run_ready();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].message.id, "kept");
  source.reset();
  std::vector<Delivery> again;
  source = listen(side, "payouts", again);
  executor_.run_ready();
  ASSERT_EQ(again.size(), 1u);
}

TEST_F(SqliteBroker, SharesTopicsAndTimersWithAnotherConnection) {
  Side one(vfs_, executor_, clock_);
  Side two(vfs_, executor_, clock_);
  std::vector<Delivery> got;
  auto source = listen(one, "payouts", got);
  for (int i = 0; i < 40; ++i) {
    Side& side = i % 2 == 0 ? two : one;
    ASSERT_TRUE(publish(side, "payouts", message("m" + std::to_string(i))));
    side.broker.timer("payouts")->schedule({"t" + std::to_string(i / 2), kT0, message("t")},
                                           [](Result<void> done) { ASSERT_TRUE(done); });
    ASSERT_TRUE(side.end_turn());
    executor_.run_ready();
    ASSERT_TRUE(one.end_turn());
    if (!got.empty()) {
      source->ack(got.back().token, [](Result<void> done) { ASSERT_TRUE(done); });
      ASSERT_TRUE(one.end_turn());
    }
  }
  std::set<std::string> ids;
  for (const Delivery& delivery : got) ids.insert(delivery.message.id);
  EXPECT_EQ(ids.size(), 40u);
  EXPECT_EQ(got.size(), 40u) << "one of them came twice";
  auto timer = one.broker.timer("payouts");
  TimerStats stats;
  timer->stats([&](Result<TimerStats> answer) { stats = answer.value(); });
  EXPECT_EQ(stats.pending, 20u);
}

/// Steps of SQLite's machine since the last call, over all statements of the connection.
int machine_steps(Database& database) {
  int steps = 0;
  for (sqlite3_stmt* statement = nullptr;
       (statement = sqlite3_next_stmt(database.handle(), statement)) != nullptr;) {
    steps += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
  }
  return steps;
}

/// The work of one event through topic and timer (fired and settled) behind `backlog` others, all with the
/// same due time.
int steps_of_one_event(int backlog) {
  CrashVfs vfs;
  VirtualClock clock;
  SimExecutor executor{clock};
  Side side(vfs, executor, clock);
  auto publisher = side.broker.publisher("payouts");
  auto timer = side.broker.timer("payouts");
  for (int i = 0; i < backlog; ++i) {
    publisher->publish(message("m" + std::to_string(i)), [](Result<void>) {});
    timer->schedule({"t" + std::to_string(i), kT0 - 1h, message("t")}, [](Result<void>) {});
  }
  std::vector<std::uint64_t> out;
  std::vector<std::uint64_t> fired;
  auto source = side.broker.source("payouts");
  source->start({.max_outstanding_messages = 100}, [&](Delivery delivery) { out.push_back(delivery.token); });
  timer->start([&](FiredEntry entry) { fired.push_back(entry.token); });
  executor.run_ready();
  EXPECT_TRUE(side.end_turn());
  timer->stats([](Result<TimerStats>) {});  // counts once
  (void)machine_steps(*side.database);
  const std::size_t before = out.size() + fired.size();
  publisher->publish(message("new"), [](Result<void> done) { ASSERT_TRUE(done); });
  timer->schedule({"new", kT0 + 1h, message("t")}, [](Result<void> done) { ASSERT_TRUE(done); });
  source->ack(out.front(), [](Result<void> done) { ASSERT_TRUE(done); });
  timer->settle(fired.front(), [](Result<void> done) { ASSERT_TRUE(done); });
  executor.run_ready();
  timer->stats([](Result<TimerStats> stats) { ASSERT_TRUE(stats); });
  EXPECT_TRUE(side.end_turn());
  EXPECT_EQ(out.size() + fired.size(), before + 2);
  return machine_steps(*side.database);
}

TEST_F(SqliteBroker, WorksNoHarderBehindALongBacklog) {
  const int few = steps_of_one_event(600);
  const int many = steps_of_one_event(12'000);
  EXPECT_LE(many, few + few / 10) << few << " steps behind 600, " << many << " behind 12,000";
}

TEST_F(SqliteBroker, HoldsNoMoreLapsedMessagesThanItsBound) {
  Side side(vfs_, executor_, clock_);
  auto publisher = side.broker.publisher("payouts");
  for (int i = 0; i < 10'500; ++i) publisher->publish(message(std::to_string(i), ""), [](Result<void>) {});
  auto source = side.broker.source("payouts");
  std::set<std::string> seen;
  source->start({}, [&](Delivery delivery) {
    seen.insert(delivery.message.id);
    source->lapse(delivery.token);
  });
  executor_.run_for(900ms);
  EXPECT_GE(seen.size(), 10'000u);
  EXPECT_LT(seen.size(), 10'100u);
  // Once somebody takes them, the rest comes too.
  source.reset();
  source = side.broker.source("payouts");
  source->start({}, [&](Delivery delivery) {
    seen.insert(delivery.message.id);
    source->ack(delivery.token, [](Result<void> done) { ASSERT_TRUE(done); });
  });
  executor_.run_for(5s);
  EXPECT_EQ(seen.size(), 10'500u);
}

TEST_F(SqliteBroker, HandsOutARowWithDamagedAttributes) {
  Side side(vfs_, executor_, clock_);
  ASSERT_TRUE(publish(side, "payouts", message("a")));
  ASSERT_TRUE(side.end_turn());
  ASSERT_TRUE(side.database->begin_write());
  ASSERT_TRUE(side.database->statement("UPDATE messages SET attributes=x'ffffff'").run());
  ASSERT_TRUE(side.end_turn());
  std::vector<Delivery> got;
  auto source = listen(side, "payouts", got);
  executor_.run_ready();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].message.body, "body");
  ASSERT_NE(find(got[0].message.attributes, kDamagedAttribute), nullptr);
}

}  // namespace
}  // namespace dripgate::broker::sqlite
