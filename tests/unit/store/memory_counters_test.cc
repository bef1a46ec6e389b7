// The memory counter store: what is bounded, what leaves, and that threads take exactly the limit. What it
// answers is in tests/conformance.
#include <atomic>
#include <barrier>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "store/memory/counter_table.h"
#include "store/memory/refund_ledger.h"
#include "store/memory/stores.h"
#include "support/virtual_time.h"
#include "unit/core/counter_support.h"

namespace dripgate::store {
namespace {

using namespace std::chrono_literals;
using core::fw;
using core::plus;
using core::sl;
using core::tb;
using core::Verdict;

core::LimitOutcome taken(CounterTable& table, Fingerprint key, const core::Limit& limit, WallTime now,
                         core::Units cost = 1) {
  const auto outcome = table.consume_one({key, &limit, cost}, now);
  EXPECT_TRUE(outcome) << outcome.error().detail;
  return outcome.value_or(core::LimitOutcome{});
}

TEST(MemoryCounters, AreBoundedAndADebtThatMattersIsNeverForgotten) {
  for (const core::Limit& limit : {fw(2, 60s), sl(2, 60s), tb(2, 2, 60s)}) {
    CounterTable table(100);
    for (Fingerprint key = 1; key <= 100; ++key) taken(table, key * 0x9e3779b97f4a7c15, limit, plus(0), 2);
    const auto refused = table.consume_one({77, &limit, 1}, plus(30));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::full);
    EXPECT_TRUE(refused.error().transient);
    for (Fingerprint key = 1; key <= 100; ++key)
      EXPECT_EQ(taken(table, key * 0x9e3779b97f4a7c15, limit, plus(30), 2).verdict, Verdict::deny);
    EXPECT_EQ(taken(table, 77, limit, plus(60)).verdict, Verdict::allow) << "all others have run out";
    EXPECT_LE(table.keys(), 100u);
  }
}

TEST(MemoryCounters, GiveTheRoomOfIdleKeysToNewOnesOneByOne) {
  CounterTable table(64);
  const core::Limit limit = tb(10, 10, 60s);
  std::mt19937_64 random(1);
  for (int i = 0; i < 64; ++i) taken(table, random() | 1, limit, plus(i));  // full again after 6 s each
  int full = 0, fits = 0;
  for (int i = 64; i < 2000; ++i) (table.consume_one({random() | 1, &limit, 1}, plus(i)) ? fits : full)++;
  EXPECT_EQ(full, 0);
  EXPECT_LE(table.keys(), 64u);
  for (int i = 0; i < 200; ++i) (table.consume_one({random() | 1, &limit, 1}, plus(3000)) ? fits : full)++;
  EXPECT_EQ(full, 200 - 64);
}

TEST(MemoryCounters, KeysMaxKeysFitHoweverTheyFallIntoShards) {
  CounterTable table(100'000);
  const core::Limit limit = fw(5, 1h);
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(table.consume_one({random() | 1, &limit, 1}, plus(0)));
  int fits = 0;
  for (int i = 0; i < 100'000; ++i) fits += table.consume_one({random() | 1, &limit, 1}, plus(1)).has_value();
  EXPECT_LT(fits, 20'000) << "and little more";
  EXPECT_LE(static_cast<double>(table.bytes()) / 100'000, 48);
}

TEST(MemoryCounters, AnswerAsAPlainMapUnderChurnGrowthAndEviction) {
  for (const bool batches : {false, true}) {
    CounterTable table(5'000);
    std::mt19937_64 random(3);
    std::vector<Fingerprint> keys(4'000);
    for (Fingerprint& key : keys)
      key = random() % 3 == 0 ? (random() & 0xff) | 1 : random() | 1;  // some collide in place
    std::map<Fingerprint, core::Counter> plain;
    const core::Limit limits[] = {tb(3, 3, 10s), fw(3, 10s), sl(3, 10s), tb(5, 3, 10s)};
    WallTime now = plus(0);
    for (int i = 0; i < 60'000; ++i) {
      now += Duration{static_cast<std::int64_t>(random() % 3'000)};
      std::vector<TableCharge> charges;
      for (int j = 0; j < (batches ? 20 : 1); ++j) {
        const Fingerprint key = keys[random() % keys.size()];
        charges.push_back({key, &limits[(key >> 3) % 3 == 0 && random() % 50 == 0 ? 3 : (key >> 3) % 3],
                           static_cast<core::Units>(random() % 3)});
      }
      std::vector<core::LimitOutcome> outcomes(charges.size());
      if (batches) {
        ASSERT_EQ(table.consume_each(charges, now, outcomes), charges.size());
        i += 19;
      } else {
        outcomes[0] = taken(table, charges[0].key, *charges[0].limit, now, charges[0].cost);
      }
      for (std::size_t j = 0; j < charges.size(); ++j) {
        core::Counter& counter = plain[charges[j].key];
        counter.limit = *charges[j].limit;
        const core::LimitOutcome want = counter.call(now, charges[j].cost);
        ASSERT_EQ(outcomes[j].verdict, want.verdict) << i;
        ASSERT_EQ(outcomes[j].remaining, want.remaining) << i;
        ASSERT_EQ(outcomes[j].retry_after, want.retry_after) << i;
        ASSERT_EQ(outcomes[j].reset_after, want.reset_after) << i;
      }
      if (i % 100 == 0) {
        const Fingerprint key = keys[random() % keys.size()];
        table.reset(key);
        plain.erase(key);
      }
    }
  }
}

TEST(MemoryCounters, OfABatchUseTheWindowOfTheirOwnLimitAlsoWhenTheClockSteppedBack) {
  CounterTable table(1'000);
  std::mt19937_64 random(5);
  std::map<Fingerprint, core::Counter> plain;
  const core::Limit limits[] = {fw(9, 10s), fw(9, 7s), fw(9, 10s)};  // two look different and are the same
  int denied = 0, in_a_later_window = 0;
  WallTime latest = plus(0);
  for (int i = 0; i < 3'000; ++i) {
    const WallTime now = latest + Duration{static_cast<std::int64_t>(random() % 4'000'000)} - 2s;
    latest = std::max(latest, now);
    std::vector<TableCharge> charges;
    for (int j = 0; j < 21; ++j) {  // not a multiple of what is fetched together
      const Fingerprint key = random() % 40 + 1;
      charges.push_back({key, &limits[key % 2 == 0 ? 1 : random() % 2 * 2], 1});
    }
    std::vector<core::LimitOutcome> outcomes(charges.size());
    ASSERT_EQ(table.consume_each(charges, now, outcomes), charges.size());
    for (std::size_t j = 0; j < charges.size(); ++j) {
      core::Counter& counter = plain[charges[j].key];
      counter.limit = *charges[j].limit;
      const core::LimitOutcome want = counter.call(now, 1);
      ASSERT_EQ(outcomes[j].verdict, want.verdict) << i;
      ASSERT_EQ(outcomes[j].remaining, want.remaining) << i;
      ASSERT_EQ(outcomes[j].retry_after, want.retry_after) << i;
      ASSERT_EQ(outcomes[j].reset_after, want.reset_after) << i;
      denied += want.verdict == Verdict::deny;
      in_a_later_window += want.reset_after > counter.limit.window;
    }
  }
  EXPECT_GT(denied, 1'000);
  EXPECT_GT(in_a_later_window, 1'000);
}

TEST(MemoryCounters, OfManyKeysTakeAllOrNothingAlsoWhenFull) {
  CounterTable table(8);
  const core::Limit limit = fw(10, 60s);
  for (Fingerprint key = 1; key <= 6; ++key) taken(table, key, limit, plus(0));
  const std::vector<TableCharge> three{{1, &limit, 1}, {101, &limit, 1}, {102, &limit, 1}};
  const std::vector<TableCharge> four{{1, &limit, 1}, {101, &limit, 1}, {102, &limit, 1}, {103, &limit, 1}};
  const auto refused = table.consume(four, plus(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::full);
  EXPECT_EQ(taken(table, 1, limit, plus(1), 0).remaining, 9) << "nothing was taken";
  EXPECT_EQ(table.consume(three, plus(1)).value().verdict, Verdict::allow);
  EXPECT_EQ(taken(table, 1, limit, plus(1), 0).remaining, 8);
  EXPECT_EQ(table.consume(four, plus(61)).value().verdict, Verdict::allow) << "the minute is over";
}

TEST(MemoryCounters, TellAnyNumberOfLimitsApartAsLongAsTheOldOnesAreOutOfUse) {
  CounterTable table(1000);
  core::Limit limit = fw(0, 1s);
  for (int i = 1; i <= 200'000; ++i) {  // three times the numbers there are: reloads over years
    limit.limit = i;
    ASSERT_TRUE(table.consume_one({Fingerprint{1} + static_cast<Fingerprint>(i % 500), &limit, 1}, plus(i)));
  }
}

TEST(MemoryCounters, AdmitExactlyTheLimitFromManyThreadsAtOnce) {
  testing::VirtualClock clock;
  constexpr int kThreads = 8, kCalls = 50, kRounds = 20;
  for (const core::Limit& limit : {fw(100, 60s), sl(100, 60s), tb(100, 100, 60s)}) {
    const auto store = make_memory_counter_store(clock, 10'000);
    for (int round = 0; round < kRounds; ++round) {
      std::barrier start(kThreads);
      std::mutex mutex;
      std::multiset<core::Units> remaining;
      std::atomic<int> denied{0};
      std::vector<std::jthread> threads;
      const std::string key = "key" + std::to_string(round);
      for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
          start.arrive_and_wait();
          for (int i = 0; i < kCalls; ++i) {
            Charges charges{{key, limit, 1}};
            // Requests over several keys, in both orders: no deadlock, and both or none.
            if (t % 2 == 0) charges.push_back({key + "b", limit, 1});
            if (t % 4 == 0) std::swap(charges[0], charges[1]);
            store->consume(charges, [&](const Result<core::Decision>& decision) {
              ASSERT_TRUE(decision);
              if (decision->verdict == Verdict::deny) ++denied;
              for (std::size_t c = 0; c < charges.size(); ++c)
                if (charges[c].key == key && decision->verdict == Verdict::allow) {
                  const std::lock_guard lock(mutex);
                  remaining.insert(decision->outcomes[c].remaining);
                }
            });
          }
        });
      threads.clear();
      ASSERT_EQ(remaining.size(), 100u);
      core::Units expected = 0;
      for (const core::Units r : remaining) ASSERT_EQ(r, expected++) << "each of 0..99 once";
      ASSERT_EQ(denied, kThreads * kCalls - 100);
    }
  }
}

TEST(MemoryCounters, SurviveThreadsThatGrowEvictAndPrefetchTheSameShards) {
  CounterTable table(20'000);
  const core::Limit limits[] = {tb(3, 3, 1s), fw(3, 1s), sl(3, 1s)};
  std::atomic<std::int64_t> clock{0};
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::vector<TableCharge> charges(32);
      std::vector<core::LimitOutcome> outcomes(32);
      for (int i = 0; i < 3'000; ++i) {
        const WallTime now = plus(0) + Duration{clock += 500};
        for (TableCharge& charge : charges) {
          const Fingerprint key = (random() % 30'000 + 1) * 0x9e3779b97f4a7c15;
          charge = {key, &limits[key % 3], 1};
        }
        (void)table.consume_each(charges, now, outcomes);
        if (i % 10 == 0) (void)table.consume({charges.data(), 5}, now);
        if (i % 50 == 0) table.reset(charges[0].key);
      }
    });
  threads.clear();
  EXPECT_GT(table.keys(), 1'000u);
}

TEST(RefundLedger, ForgetsAnIdWhenARepeatGivesNothingAnyway) {
  RefundLedger ledger;
  ledger.add(1, plus(10));
  ledger.add(2, plus(20));
  EXPECT_TRUE(ledger.holds(1, plus(9.9)));
  EXPECT_FALSE(ledger.holds(1, plus(10)));
  EXPECT_TRUE(ledger.holds(2, plus(10)));
  EXPECT_FALSE(ledger.full());
  for (std::uint64_t id = 3; !ledger.full(); ++id) ledger.add(id, plus(30));
  EXPECT_FALSE(ledger.holds(5, plus(30)));
  EXPECT_FALSE(ledger.full());
}

}  // namespace
}  // namespace dripgate::store
