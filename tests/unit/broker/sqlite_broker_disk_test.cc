// The embedded broker on a disk that fails: kills at every step, no space left, damaged bytes.
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "side.h"

namespace dripgate::broker::sqlite {
namespace {

using SqliteBrokerDisk = SqliteBroker;

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

TEST_F(SqliteBrokerDisk, LosesAndDoublesNothingWhenKilledAtAnyStep) {
  kill_drip_at_every_step(false);
}
TEST_F(SqliteBrokerDisk, LosesAndDoublesNothingWhenKilledWithTornWrites) {
  kill_drip_at_every_step(true);
}

// Large bodies, booked until the disk is full: all of them still go out, although each is written once more
// on its way. The owner builds the parts again after a failed turn.
TEST_F(SqliteBrokerDisk, DeliversWhatIsBookedOnAFullDisk) {
  const std::string body(40'000, 'x');
  vfs_.set_allocation(true);
  vfs_.set_capacity(24u << 20);
  auto database = Database::open("full.db", {.vfs = vfs_.name()}).value();
  Broker broker(*database, executor_, clock_);
  int booked = 0;
  for (auto timer = broker.timer("s");; ++booked) {
    timer->schedule({std::to_string(booked), kT0 + 1s, message(std::to_string(booked), body)},
                    [](Result<void>) {});
    if (!database->end_turn()) break;
  }
  ASSERT_GT(booked, 100);
  std::multiset<std::string> delivered;
  std::vector<std::string> in_turn;  // acked, not durable yet
  int failed_turns = 0;
  for (int round = 0; round < 10 && delivered.size() < static_cast<std::size_t>(booked); ++round) {
    auto timer = broker.timer("s");
    auto out = broker.publisher("out");
    auto source = broker.source("out");
    timer->start([&](FiredEntry entry) {
      out->publish(std::move(entry.entry.message), [&, token = entry.token](Result<void> done) {
        if (done) timer->settle(token, [](Result<void>) {});
      });
    });
    // As at a sink that answers later: the ack is in another turn.
    source->start({}, [&](Delivery delivery) {
      executor_.post_after(10ms, [&, id = delivery.message.id, token = delivery.token] {
        source->ack(token, [&, id](Result<void> done) {
          if (done) in_turn.push_back(id);
        });
      });
    });
    bool ended = true;
    for (int turn = 0; ended && turn < 1000; ++turn) {
      for (int tasks = 0; tasks < 64; ++tasks) (void)executor_.run_one();
      ended = database->end_turn().has_value();
      if (ended) delivered.insert(in_turn.begin(), in_turn.end());
      in_turn.clear();
    }
    failed_turns += ended ? 0 : 1;
    executor_.clear();
  }
  EXPECT_EQ(delivered.size(), static_cast<std::size_t>(booked)) << failed_turns << " failed turns";
  EXPECT_LE(failed_turns, 1);
  EXPECT_EQ(std::set<std::string>(delivered.begin(), delivered.end()).size(), delivered.size());
}

// Whatever bytes are in the file: errors or answers, never a crash. Run under the address sanitizer too.
TEST_F(SqliteBrokerDisk, SurvivesRandomDamage) {
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
