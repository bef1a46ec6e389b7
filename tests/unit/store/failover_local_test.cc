// The share of one process: exact against a rational model, shared by threads, following the count.
#include <atomic>
#include <random>
#include <thread>

#include "unit/store/failover_world.h"

namespace dripgate::store {
namespace {

using core::fw;
using core::sl;
using core::tb;

/// A balance in 1/(window x n) units, grown by plain multiplication; no code of core.
struct RationalShare {
  RationalShare(core::Units limit, Duration window, core::Units capacity, int n)
      : rate(limit), unit(__int128{window.count()} * n), full(unit * std::max<core::Units>(1, capacity / n)) {
    balance = full;
  }
  bool take(core::Units cost, WallTime now) {
    balance = std::min<__int128>(full, balance + __int128{(now - then).count()} * rate);
    then = now;
    if (balance < cost * unit) return false;
    balance -= cost * unit;
    return true;
  }
  core::Units whole() const { return static_cast<core::Units>(balance / unit); }

  __int128 rate, unit, full, balance = 0;
  WallTime then = testing::kT0;
};

TEST(LocalShare, IsAnExactPartOfEveryKindOfLimit) {
  struct Case {
    core::Limit limit;
    int instances;
    core::Units rate;
    Duration window;
    core::Units burst;
  };
  const Case cases[] = {
      {tb(20, 100, 60s), 1, 100, 60s, 20},   {tb(20, 100, 60s), 3, 100, 180s, 6},
      {tb(20, 100, 60s), 21, 100, 1260s, 1}, {sl(10, 60s), 4, 10, 240s, 2},
      {fw(7, 90s), 3, 7, 270s, 2},           {fw(0, 60s), 5, 0, 300s, 0},
      {tb(5, 0, 60s), 2, 0, 120s, 2},        {tb(0, 5, 60s), 2, 5, 120s, 0},
      {fw(1000, 24h), 50, 1000, 1200h, 20},  {fw(10, 1s), 0, 10, 1s, 10},
      {fw(10, 1s), 1 << 30, 10, 10'000s, 1},
  };
  for (const Case& c : cases) {
    const core::Limit share = local_share(c.limit, c.instances);
    EXPECT_EQ(share.algorithm, core::Algorithm::token_bucket);
    EXPECT_EQ(share.limit, c.rate);
    EXPECT_EQ(share.window, c.window) << c.instances;
    EXPECT_EQ(share.capacity, c.burst) << c.instances;
  }
}

TEST(LocalShare, IsExactOverRandomHistories) {
  std::mt19937_64 random(7);
  for (int history = 0; history < 60; ++history) {
    testing::VirtualClock clock;
    LocalCounters local(clock, 100);
    const int n = 1 + static_cast<int>(random() % 9);
    local.set_instances(n);
    const auto limit = static_cast<core::Units>(1 + random() % 50);
    const Duration window{1 + static_cast<std::int64_t>(random() % 5'000'000)};
    const GuardedCharge asked{
        .charge = {.key = "k", .limit = history % 2 ? fw(limit, window) : sl(limit, window)},
        .on_store_failure = FailureMode::local};
    RationalShare model(limit, window, limit, n);
    for (int call = 0; call < 300; ++call) {
      GuardedCharge now = asked;
      now.charge.cost = static_cast<core::Units>(1 + random() % 3);
      const auto answer = local.consume({&now});
      ASSERT_TRUE(answer);
      const bool allowed = model.take(now.charge.cost, clock.now());
      ASSERT_EQ(answer->decision.verdict == Verdict::allow, allowed)
          << "history " << history << ", call " << call;
      EXPECT_EQ(answer->decision.outcomes[0].remaining, model.whole());
      const auto wait = answer->decision.outcomes[0].retry_after;
      if (wait && random() % 2 == 0) {  // exactly retry_after suffices, one us less does not
        clock.advance(*wait - 1us);
        ASSERT_NE(local.consume({&now})->decision.verdict, Verdict::allow);
        ASSERT_FALSE(model.take(now.charge.cost, clock.now()));
        clock.advance(1us);
      } else {
        clock.advance(Duration{static_cast<std::int64_t>(random() % static_cast<unsigned>(window.count()))});
      }
    }
  }
}

TEST_F(FailoverTest, NInstancesTogetherAdmitNoMoreThanTheLimitSustained) {
  // Five processes behind a dead store for ten windows: each its own LocalCounters.
  constexpr int kInstances = 5;
  core::Units admitted = 0;
  for (int instance = 0; instance < kInstances; ++instance) {
    testing::VirtualClock time;
    LocalCounters share(time, 100);
    share.set_instances(kInstances);
    const auto guarded = charge("0/a", FailureMode::local, fw(100, 60s));
    for (int ms = 0; ms < 600'000; ms += 100, time.advance(100ms))
      admitted += share.consume({&guarded})->decision.verdict == Verdict::allow ? 1 : 0;
  }
  EXPECT_LE(admitted, 100 * 10 + 100) << "the limit per window, and one burst";
  EXPECT_GE(admitted, 100 * 10);
}

TEST_F(FailoverTest, TheShareFollowsTheCountAndIsNeverLargerThanLocalShareSays) {
  shared.health[0] = Health::hangs;
  open_breaker(0);
  const auto burst = [&](const std::string& key, int floor) {
    int allowed = 0;
    while (decide({charge(key, FailureMode::local, fw(60, 1h), 1, floor)}).verdict == Verdict::allow)
      ++allowed;
    return allowed;
  };
  EXPECT_EQ(burst("0/alone", 1), 60) << "one instance, until others are counted";
  EXPECT_EQ(burst("0/floor", 4), 15);
  local.set_instances(6);
  EXPECT_EQ(burst("0/six", 1), 10);
  EXPECT_EQ(burst("0/six-floor", 4), 10);
  EXPECT_EQ(burst("0/six-floor-20", 20), 3);
  local.set_instances(0);
  EXPECT_EQ(local.instances(), 1);
}

TEST_F(FailoverTest, AChangeOfNConvertsWhatIsLeftAndGivesNothingAway) {
  shared.health[0] = Health::hangs;
  open_breaker(0);
  local.set_instances(2);
  const auto guarded = charge("0/a", FailureMode::local, tb(20, 20, 20s));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(decide({guarded}).verdict, Verdict::allow);
  EXPECT_EQ(decide({guarded}).verdict, Verdict::deny);
  local.set_instances(1);
  const auto denied = decide({guarded});
  EXPECT_EQ(denied.verdict, Verdict::deny) << "the larger share begins empty";
  EXPECT_LE(*denied.outcomes[0].retry_after, 2s);
  local.set_instances(10);
  executor.run_for(10min);
  int allowed = 0;
  while (decide({guarded}).verdict == Verdict::allow) ++allowed;
  EXPECT_EQ(allowed, 2);
}

TEST_F(FailoverTest, ACostAboveTheShareIsADenyWithoutAWaitAndAboveTheLimitImpossible) {
  shared.health[0] = Health::hangs;
  open_breaker(0);
  local.set_instances(10);
  const auto above_share = decide({charge("0/a", FailureMode::local, tb(20, 20, 60s), 3)});
  EXPECT_EQ(above_share.verdict, Verdict::deny);
  EXPECT_FALSE(above_share.outcomes[0].retry_after);
  EXPECT_EQ(above_share.outcomes[0].remaining, 2) << "and takes nothing";
  EXPECT_EQ(decide({charge("0/a", FailureMode::local, tb(20, 20, 60s), 21)}).verdict, Verdict::impossible);
}

TEST_F(FailoverTest, SeveralLocalChargesAreTakenAllOrNone) {
  shared.health[0] = Health::hangs;
  open_breaker(0);
  const auto many = charge("0/many", FailureMode::local, tb(10, 10, 60s));
  const auto few = charge("0/few", FailureMode::local, tb(2, 2, 60s));
  int allowed = 0;
  for (int i = 0; i < 9; ++i) allowed += decide({many, few}).verdict == Verdict::allow ? 1 : 0;
  EXPECT_EQ(allowed, 2);
  EXPECT_EQ(decide({many}).outcomes[0].remaining, 7);
}

TEST(LocalCountersOfAProcess, AreSharedByItsThreads) {
  testing::VirtualClock clock;
  LocalCounters local(clock, 1000);
  local.set_instances(4);
  const GuardedCharge guarded{.charge = {.key = "k", .limit = tb(4000, 4000, 1h)},
                              .on_store_failure = FailureMode::local};
  std::atomic<int> allowed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const auto answer = local.consume({&guarded});
        ASSERT_TRUE(answer);
        allowed += answer->decision.verdict == Verdict::allow ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allowed, 1000) << "one share for the process, not one per thread";
}

}  // namespace
}  // namespace dripgate::store
