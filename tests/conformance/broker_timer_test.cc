// What every timer and every dead-letter list does.
#include <set>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "broker_world.h"

namespace dripgate::testing {
namespace {

using broker::DeadLetter;
using broker::FiredEntry;
using broker::TimerEntry;
using broker::TimerStats;

class BrokerTimer : public ::testing::TestWithParam<BrokerBackend> {
 protected:
  void schedule(const std::string& id, WallTime due, const std::string& body = "") {
    bool done = false;
    timer_->schedule(TimerEntry{id, due, message("msg-" + id, body)},
                     [&](Result<void> result) { done = result.has_value(); });
    world_->run_ready();
    ASSERT_TRUE(done);
  }
  void start() {
    timer_->start([this](FiredEntry entry) {
      fired_at_.push_back(world_->executor.elapsed());
      fired_.push_back(std::move(entry));
    });
    world_->run_ready();
  }
  void settle(std::uint64_t token) {
    bool done = false;
    timer_->settle(token, [&](Result<void> result) { done = result.has_value(); });
    world_->run_ready();
    ASSERT_TRUE(done);
  }
  void restart() {
    timer_.reset();
    fired_.clear();
    fired_at_.clear();
    world_->restart();
    timer_ = world_->timer("payouts");
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    for (const FiredEntry& entry : fired_) ids.push_back(entry.entry.id);
    return ids;
  }
  TimerStats stats() {
    TimerStats stats;
    timer_->stats([&](Result<TimerStats> answer) { stats = answer.value(); });
    world_->run_ready();
    return stats;
  }

  std::unique_ptr<BrokerWorld> world_ = GetParam().make();
  std::unique_ptr<broker::Timer> timer_ = world_->timer("payouts");
  std::vector<FiredEntry> fired_;
  std::vector<Duration> fired_at_;
};

using Ids = std::vector<std::string>;

TEST_P(BrokerTimer, FiresAtItsTimeAndNotBefore) {
  start();
  schedule("a", kT0 + 90s, "bytes");
  world_->run_for(90s - 1us);
  EXPECT_TRUE(fired_.empty());
  world_->run_for(1us);
  ASSERT_EQ(ids(), (Ids{"a"}));
  EXPECT_EQ(fired_[0].entry.due, kT0 + 90s);
  EXPECT_EQ(fired_[0].entry.message.id, "msg-a");
  EXPECT_EQ(fired_[0].entry.message.body, "bytes");
  world_->run_for(10min);
  EXPECT_EQ(fired_.size(), 1u);
}

TEST_P(BrokerTimer, FiresEarlierEntriesThatCameLater) {
  start();
  schedule("late", kT0 + 1h);
  world_->run_for(10s);
  schedule("soon", kT0 + 10s + 200ms);
  schedule("sooner", kT0 + 10s + 100ms);
  schedule("past", kT0);
  world_->run_for(1s);
  EXPECT_EQ(ids(), (Ids{"past", "sooner", "soon"}));
  EXPECT_EQ(fired_at_[1], Duration{10s + 100ms});
  EXPECT_EQ(fired_at_[2], Duration{10s + 200ms});
}

TEST_P(BrokerTimer, FiresEntriesThatComeAfterTheirTime) {
  start();
  schedule("a", kT0 + 10s);
  world_->run_for(20s);
  schedule("before", kT0 + 5s);
  schedule("same", kT0 + 10s);
  schedule("after", kT0 + 15s);
  world_->run_ready();
  EXPECT_EQ(ids(), (Ids{"a", "before", "same", "after"}));
}

TEST_P(BrokerTimer, FiresOverdueEntriesInOrderOfTheirTimes) {
  for (const int second : {5, 3, 9, 1, 7})
    schedule(std::to_string(second), kT0 + std::chrono::seconds(second));
  world_->run_for(1h);
  start();
  EXPECT_EQ(ids(), (Ids{"1", "3", "5", "7", "9"}));
}

TEST_P(BrokerTimer, TakesTheSameIdOnce) {
  schedule("a", kT0 + 10s, "first");
  schedule("a", kT0 + 5s, "second");
  EXPECT_EQ(stats().pending, 1u);
  start();
  world_->run_for(1min);
  ASSERT_EQ(fired_.size(), 1u);
  EXPECT_EQ(fired_[0].entry.message.body, "first");
}

TEST_P(BrokerTimer, FiresNoMoreThanABatchUntilSettled) {
  const int count = static_cast<int>(kFiringsOutstandingMax) + 50;
  for (int i = 0; i < count; ++i) schedule(std::to_string(i), kT0 + 1s);
  start();
  world_->run_for(1min);
  EXPECT_EQ(fired_.size(), kFiringsOutstandingMax);
  for (std::size_t i = 0; i < fired_.size(); ++i) settle(fired_[i].token);
  EXPECT_EQ(fired_.size(), static_cast<std::size_t>(count));
  std::set<std::string> once;
  for (const std::string& id : ids()) EXPECT_TRUE(once.insert(id).second) << id;
  EXPECT_EQ(stats().pending, 0u);
}

TEST_P(BrokerTimer, FiresALapsedEntryAgainLater) {
  schedule("a", kT0);
  start();
  ASSERT_EQ(fired_.size(), 1u);
  timer_->lapse(fired_[0].token);
  world_->run_ready();
  EXPECT_EQ(fired_.size(), 1u);
  world_->run_for(2min);
  ASSERT_EQ(fired_.size(), 2u);
  settle(fired_[1].token);
  world_->run_for(10min);
  EXPECT_EQ(fired_.size(), 2u);
}

TEST_P(BrokerTimer, KeepsEntriesOverAKillUntilTheyAreSettled) {
  schedule("a", kT0 + 1s);
  schedule("b", kT0 + 2s);
  schedule("c", kT0 + 1h);
  start();
  world_->run_for(10s);
  ASSERT_EQ(ids(), (Ids{"a", "b"}));
  settle(fired_[0].token);
  restart();
  EXPECT_EQ(stats().pending, 2u);
  start();
  ASSERT_EQ(ids(), (Ids{"b"}));
  settle(fired_[0].token);
  world_->run_for(1h);
  EXPECT_EQ(ids(), (Ids{"b", "c"}));
}

TEST_P(BrokerTimer, FiresNothingWhilePaused) {
  schedule("a", kT0 + 1s);
  schedule("b", kT0 + 2s);
  start();
  timer_->pause();
  world_->run_for(1min);
  EXPECT_TRUE(fired_.empty());
  schedule("c", kT0);
  timer_->resume();
  world_->run_ready();
  EXPECT_EQ(ids(), (Ids{"c", "a", "b"}));
}

TEST_P(BrokerTimer, NoticesAClockThatJumps) {
  schedule("a", kT0 + 1h);
  start();
  world_->run_for(10s);
  world_->clock.advance(2h);
  world_->run_for(5s);
  ASSERT_EQ(ids(), (Ids{"a"}));
  schedule("b", world_->clock.now() + 1s);
  world_->clock.advance(-30s);
  world_->run_for(30s);
  EXPECT_EQ(fired_.size(), 1u) << "before its time";
  world_->run_for(2s);
  EXPECT_EQ(ids(), (Ids{"a", "b"}));
}

TEST_P(BrokerTimer, TellsHowMuchWaitsAndHowLong) {
  EXPECT_EQ(stats().pending, 0u);
  EXPECT_FALSE(stats().oldest_due);
  schedule("b", kT0 + 20s);
  schedule("a", kT0 + 10s);
  schedule("c", kT0 + 30s);
  EXPECT_EQ(stats().pending, 3u);
  EXPECT_EQ(stats().oldest_due, kT0 + 10s);
  EXPECT_EQ(stats().latest_due, kT0 + 30s);
  start();
  world_->run_for(15s);
  settle(fired_[0].token);
  EXPECT_EQ(stats().pending, 2u);
  EXPECT_EQ(stats().oldest_due, kT0 + 20s);
}

TEST_P(BrokerTimer, KeepsStreamsApart) {
  auto other = world_->timer("refunds");
  bool done = false;
  other->schedule(TimerEntry{"a", kT0, message("m")},
                  [&](Result<void> result) { done = result.has_value(); });
  schedule("a", kT0, "mine");
  EXPECT_TRUE(done);
  start();
  world_->run_for(1min);
  ASSERT_EQ(fired_.size(), 1u);
  EXPECT_EQ(fired_[0].entry.message.body, "mine");
  EXPECT_EQ(stats().pending, 1u);
  other.reset();
}

TEST_P(BrokerTimer, AllowsTheHandlerToSettleScheduleAndEnd) {
  for (int i = 0; i < 5; ++i) schedule(std::to_string(i), kT0);
  std::size_t waiting = 5;  // confirmed and not settled
  timer_->start([&](FiredEntry entry) {
    fired_.push_back(entry);
    timer_->settle(entry.token, [&](Result<void> done) { waiting -= done ? 1 : 0; });
    if (fired_.size() == 1) {
      timer_->schedule(TimerEntry{"again", kT0 - 1s, message("msg-again")},
                       [&](Result<void> done) { waiting += done ? 1 : 0; });
    }
    if (fired_.size() == 4) timer_.reset();
  });
  world_->run_for(1min);
  ASSERT_EQ(fired_.size(), 4u);
  restart();
  start();
  EXPECT_EQ(fired_.size(), waiting);
}

class BrokerDeadLetters : public ::testing::TestWithParam<BrokerBackend> {
 protected:
  void add(const std::string& event_id, std::uint32_t generation = 0, WallTime dead_at = kT0) {
    DeadLetter letter;
    letter.event_id = event_id;
    letter.key = "k";
    letter.reason = "beyond_horizon";
    letter.detail = "slot";
    letter.generation = generation;
    letter.message = message("m-" + event_id, std::string("\0\xff", 2), {{"a", "1"}});
    letter.message.published = kT0 - 2s;
    letter.first_received = kT0 - 1s;
    letter.dead_at = dead_at;
    letter.attempts = 3;
    bool done = false;
    letters_->add(std::move(letter), [&](Result<void> result) { done = result.has_value(); });
    world_->run_ready();
    ASSERT_TRUE(done);
  }
  broker::DeadLetterPage list(std::uint64_t after = 0, std::size_t count = 100) {
    broker::DeadLetterPage page;
    letters_->list(after, count, [&](Result<broker::DeadLetterPage> answer) { page = std::move(*answer); });
    world_->run_ready();
    return page;
  }
  std::uint64_t purge(WallTime before) {
    std::uint64_t count = 0;
    letters_->purge(before, [&](Result<std::uint64_t> answer) { count = answer.value(); });
    world_->run_ready();
    return count;
  }
  bool remove(std::uint64_t sequence) {
    bool gone = false;
    letters_->remove(sequence, [&](Result<bool> answer) { gone = answer.value(); });
    world_->run_ready();
    return gone;
  }
  void restart() {
    letters_.reset();
    world_->restart();
    letters_ = world_->dead_letters("payouts-dlq");
  }

  std::unique_ptr<BrokerWorld> world_ = GetParam().make();
  std::unique_ptr<broker::DeadLetters> letters_ = world_->dead_letters("payouts-dlq");
};

TEST_P(BrokerDeadLetters, KeepEverythingAPersonNeeds) {
  EXPECT_EQ(list().total, 0u);
  add("e1", 7, kT0 + 5s);
  restart();
  const auto page = list();
  ASSERT_EQ(page.letters.size(), 1u);
  EXPECT_EQ(page.total, 1u);
  std::optional<DeadLetter> letter;
  letters_->find(page.letters[0].sequence, [&](Result<std::optional<DeadLetter>> found) { letter = *found; });
  world_->run_ready();
  ASSERT_TRUE(letter);
  EXPECT_EQ(letter->event_id, "e1");
  EXPECT_EQ(letter->key, "k");
  EXPECT_EQ(letter->reason, "beyond_horizon");
  EXPECT_EQ(letter->detail, "slot");
  EXPECT_EQ(letter->message.id, "m-e1");
  EXPECT_EQ(letter->message.body, std::string("\0\xff", 2));
  EXPECT_EQ(letter->message.attributes, (broker::Attributes{{"a", "1"}}));
  EXPECT_EQ(letter->message.published, kT0 - 2s);
  EXPECT_EQ(letter->first_received, kT0 - 1s);
  EXPECT_EQ(letter->dead_at, kT0 + 5s);
  EXPECT_EQ(letter->attempts, 3);
  EXPECT_EQ(letter->generation, 7u);
}

TEST_P(BrokerDeadLetters, AreOnePerEventAndGeneration) {
  add("e1", 1);
  add("e1", 1);
  add("e1", 2);
  EXPECT_EQ(list().total, 2u);
}

TEST_P(BrokerDeadLetters, AreListedByPages) {
  for (int i = 0; i < 5; ++i) add("e" + std::to_string(i));
  const auto first = list(0, 2);
  ASSERT_EQ(first.letters.size(), 2u);
  EXPECT_EQ(first.total, 5u);
  const auto second = list(first.letters.back().sequence, 2);
  ASSERT_EQ(second.letters.size(), 2u);
  EXPECT_EQ(second.letters[0].event_id, "e2");
  EXPECT_LT(first.letters[1].sequence, second.letters[0].sequence);
  EXPECT_EQ(list(second.letters.back().sequence, 2).letters.size(), 1u);
}

TEST_P(BrokerDeadLetters, AreGoneOnceRemovedAndNumbersStayUnique) {
  add("e1");
  const std::uint64_t sequence = list().letters[0].sequence;
  EXPECT_TRUE(remove(sequence));
  EXPECT_FALSE(remove(sequence));
  EXPECT_FALSE(remove(~std::uint64_t{0}));
  EXPECT_EQ(list().total, 0u);
  restart();
  add("e1");
  EXPECT_GT(list().letters[0].sequence, sequence);
}

TEST_P(BrokerDeadLetters, ArePurgedByAgeInBatches) {
  for (int i = 0; i < 600; ++i) add("e" + std::to_string(i), 0, kT0 + std::chrono::seconds(i));
  std::uint64_t gone = 0;
  int calls = 0;
  for (std::uint64_t batch = 1; batch != 0 && calls < 100; ++calls) gone += batch = purge(kT0 + 500s);
  EXPECT_EQ(gone, 500u);
  EXPECT_GT(calls, 2);
  EXPECT_EQ(list().total, 100u);
  EXPECT_EQ(list().letters[0].event_id, "e500");
}

TEST_P(BrokerDeadLetters, OfOtherTopicsAreOutOfReach) {
  auto other = world_->dead_letters("refunds-dlq");
  add("e1");
  std::uint64_t seen = 0;
  bool gone = true;
  other->list(0, 10, [&](Result<broker::DeadLetterPage> page) { seen = page->total; });
  other->remove(list().letters[0].sequence, [&](Result<bool> answer) { gone = answer.value(); });
  world_->run_ready();
  EXPECT_EQ(seen, 0u);
  EXPECT_FALSE(gone);
  EXPECT_EQ(list().total, 1u);
}

INSTANTIATE_TEST_SUITE_P(Backends, BrokerTimer, ::testing::ValuesIn(all_brokers()),
                         [](const auto& backend) { return backend.param.name; });
INSTANTIATE_TEST_SUITE_P(Backends, BrokerDeadLetters, ::testing::ValuesIn(all_brokers()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace dripgate::testing
