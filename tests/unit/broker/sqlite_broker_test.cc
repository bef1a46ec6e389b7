// What only the embedded broker does: turns that fail, kills at every step, two connections on one file, the
// work of one event however long the backlog, damaged rows.
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "broker/sqlite/broker.h"
#include "broker/sqlite/rows.h"
#include "support/crash_vfs.h"
#include "support/virtual_time.h"

namespace dripgate::broker::sqlite {
namespace {

using dripgate::sqlite::Database;
using dripgate::testing::CrashVfs;
using dripgate::testing::kT0;
using dripgate::testing::SimExecutor;
using dripgate::testing::VirtualClock;

Message message(std::string id, std::string body = "body") {
  return {std::move(id), std::move(body), {{"name", "value"}}, {}};
}

/// One connection with its broker; several may share a CrashVfs.
struct Side {
  Side(CrashVfs& vfs, SimExecutor& executor, VirtualClock& clock)
      : database(Database::open("a.db", {.vfs = vfs.name(), .ballast_bytes = 0, .busy_wait = Duration{0}})
                     .value()),
        broker(*database, executor, clock) {}
  bool end_turn() { return database->end_turn().has_value(); }

  std::unique_ptr<Database> database;
  Broker broker;
};

class SqliteBroker : public ::testing::Test {
 protected:
  bool publish(Side& side, const std::string& topic, Message what) {
    bool done = false;
    side.broker.publisher(topic)->publish(std::move(what),
                                          [&](Result<void> result) { done = result.has_value(); });
    return done;
  }
  std::unique_ptr<EventSource> listen(Side& side, const std::string& topic, std::vector<Delivery>& got) {
    auto source = side.broker.source(topic);
    source->start({}, [&got](Delivery delivery) { got.push_back(std::move(delivery)); });
    return source;
  }

  CrashVfs vfs_;
  VirtualClock clock_;
  SimExecutor executor_{clock_};
};

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

/// A drip in small: every event of the source is published to `out` or scheduled; fired entries go to `out`;
/// in the turn that acks or settles. Dead letters for every fifth.
struct Drip {
  explicit Drip(Side& side)
      : out(side.broker.publisher("out")),
        letters(side.broker.dead_letters("dlq")),
        timer(side.broker.timer("s")),
        source(side.broker.source("in")) {
    source->start({}, [this](Delivery delivery) { take(std::move(delivery)); });
    timer->start([this](FiredEntry entry) {
      out->publish(entry.entry.message, [this, token = entry.token](Result<void> done) {
        if (done) timer->settle(token, [](Result<void>) {});
      });
    });
  }
  void take(Delivery delivery) {
    const int number = std::stoi(delivery.message.id);
    Done<void> ack = [this, token = delivery.token](Result<void> done) {
      if (done) source->ack(token, [](Result<void>) {});
    };
    if (number % 5 == 0) {
      DeadLetter letter;
      letter.event_id = delivery.message.id;
      letter.message = std::move(delivery.message);
      letters->add(std::move(letter), std::move(ack));
    } else if (number % 2 == 0) {
      timer->schedule({delivery.message.id, kT0 + std::chrono::seconds(number), delivery.message},
                      std::move(ack));
    } else {
      out->publish(std::move(delivery.message), std::move(ack));
    }
  }
  std::unique_ptr<Publisher> out;
  std::unique_ptr<DeadLetters> letters;
  std::unique_ptr<Timer> timer;
  std::unique_ptr<EventSource> source;
};

constexpr int kDripEvents = 12;

/// Publishes what the file has not confirmed yet and lets the drip run for a while. False: the turn failed.
bool run_drip(Side& side, SimExecutor& executor, int& confirmed) {
  Drip drip(side);
  auto in = side.broker.publisher("in");
  const auto turn = [&] {
    for (int i = 0; i < 4; ++i) (void)executor.run_one();
    return side.end_turn();
  };
  while (confirmed < kDripEvents) {
    in->publish(message(std::to_string(confirmed)), [](Result<void>) {});
    if (!turn()) return false;
    ++confirmed;
  }
  const Duration end = executor.elapsed() + 30s;
  while (!executor.idle() && executor.elapsed() < end) {
    if (!turn()) return false;
  }
  return true;
}

/// Every event is in `out` or dead, and each once: the ids tell.
void expect_all_arrived(Side& side, int step) {
  std::multiset<int> arrived;
  auto& out =
      side.database->statement("SELECT id FROM messages JOIN scopes ON topic=number WHERE name='out'");
  for (out.reset(); out.step().value();) arrived.insert(std::stoi(std::string(out.bytes(0))));
  auto& dead = side.database->statement("SELECT event_id FROM dead_letters");
  for (dead.reset(); dead.step().value();) arrived.insert(std::stoi(std::string(dead.bytes(0))));
  std::multiset<int> expected;
  for (int i = 0; i < kDripEvents; ++i) expected.insert(i);
  ASSERT_EQ(arrived, expected) << "killed at step " << step;
  auto& left = side.database->statement("SELECT (SELECT COUNT(*) FROM timers), COUNT(*) FROM messages");
  ASSERT_TRUE(left.bind().step().value());
  ASSERT_EQ(left.integer(0), 0) << "killed at step " << step;
  left.reset();
}

void kill_drip_at_every_step(bool keep) {
  int kills = 0;
  for (int step = 1;; ++step) {
    CrashVfs vfs;
    VirtualClock clock;
    SimExecutor executor{clock};
    {
      const Side created(vfs, executor, clock);
    }
    vfs.die_at_step(static_cast<std::uint64_t>(step));
    int confirmed = 0;
    bool died = false;
    {
      Side side(vfs, executor, clock);
      died = !run_drip(side, executor, confirmed) || vfs.fault_fired();
      executor.clear();
      if (died && keep) vfs.kill_keeping_some(static_cast<std::uint64_t>(step));
      if (died && !keep) vfs.kill();
    }
    if (!died) break;
    ++kills;
    Side side(vfs, executor, clock);
    ASSERT_TRUE(run_drip(side, executor, confirmed));
    executor.clear();
    expect_all_arrived(side, step);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(kills, 50);
}

TEST_F(SqliteBroker, LosesAndDoublesNothingWhenKilledAtAnyStep) {
  kill_drip_at_every_step(false);
}
TEST_F(SqliteBroker, LosesAndDoublesNothingWhenKilledWithTornWrites) {
  kill_drip_at_every_step(true);
}

// Whatever bytes are in the file: errors or answers, never a crash. Run under the address sanitizer too.
TEST_F(SqliteBroker, SurvivesRandomDamage) {
  {
    Side side(vfs_, executor_, clock_);
    for (int i = 0; i < 60; ++i) {
      ASSERT_TRUE(publish(side, "in", message(std::to_string(i), std::string(i * 7, 'x'))));
      side.broker.timer("s")->schedule({std::to_string(i), kT0, message("t")}, [](Result<void>) {});
    }
    ASSERT_TRUE(side.end_turn());
  }
  const std::string whole = *vfs_.contents("a.db");
  int used = 0;
  for (unsigned seed = 0; seed < 800; ++seed) {
    std::mt19937 random(seed);
    std::string bytes = whole;
    for (unsigned flips = 1 + random() % 6; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1u << random() % 8);
    }
    CrashVfs vfs;
    vfs.put("a.db", bytes);
    VirtualClock clock;
    SimExecutor executor{clock};
    auto database = Database::open("a.db", {.vfs = vfs.name(), .ballast_bytes = 0});
    if (!database) continue;
    ++used;
    Broker broker(**database, executor, clock);
    auto source = broker.source("in");
    auto timer = broker.timer("s");
    source->start({}, [&](Delivery delivery) { source->ack(delivery.token, [](Result<void>) {}); });
    timer->start([&](FiredEntry entry) { timer->settle(entry.token, [](Result<void>) {}); });
    for (int i = 0; i < 100 && executor.run_one(); ++i) (void)(*database)->end_turn();
    timer->stats([](Result<TimerStats>) {});
    broker.dead_letters("dlq")->list(0, 10, [](Result<DeadLetterPage>) {});
  }
  EXPECT_GT(used, 30);
}

}  // namespace
}  // namespace dripgate::broker::sqlite
