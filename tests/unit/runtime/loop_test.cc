// The drip loop: order, turns, timers, stop; the scaled clock.
#include "runtime/loop.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "runtime/real_clock.h"

namespace dripgate::runtime {
namespace {

constexpr auto kSoon = std::chrono::seconds{20};

/// A loop that counts its turns; tests wait for it by futures.
struct Running {
  explicit Running(std::int64_t scale = 1) : loop(scale) {
    loop.start([this] { ++turns; });
  }
  std::atomic<int> turns{0};
  Loop loop;
};

template <class T>
T await(std::future<T> future) {
  EXPECT_EQ(future.wait_for(kSoon), std::future_status::ready);
  return future.get();
}

TEST(Loop, RunsTasksInPostOrderOnOneThread) {
  Running running;
  std::vector<int> seen;
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 1000; ++i) {
    running.loop.post([&, i] {
      seen.push_back(i);
      threads.push_back(std::this_thread::get_id());
    });
  }
  ASSERT_TRUE(running.loop.run([] {}));
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(seen[i], i);
  for (const auto id : threads) ASSERT_EQ(id, threads[0]);
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(Loop, EndsATurnAfterAtMostItsBoundOfTasks) {
  Running running;
  std::promise<void> go;
  std::shared_future<void> started(go.get_future());
  std::vector<int> turn_of;
  running.loop.post([started] { started.wait(); });
  const std::size_t count = 3 * kTurnTasksMax;
  for (std::size_t i = 0; i < count; ++i) {
    running.loop.post([&] { turn_of.push_back(running.turns); });
  }
  go.set_value();
  ASSERT_TRUE(running.loop.run([] {}));
  ASSERT_EQ(turn_of.size(), count);
  std::size_t longest = 0;
  for (const int turn : turn_of) {
    longest = std::max<std::size_t>(longest, std::ranges::count(turn_of, turn));
  }
  EXPECT_LE(longest, kTurnTasksMax);
  // Not one turn per task either: what waits shares a commit.
  EXPECT_LE(turn_of.back() - turn_of.front(), 4);
}

TEST(Loop, EndsTheTurnOfEveryTaskBeforeItIdles) {
  Running running;
  std::promise<int> before;
  running.loop.post([&] { before.set_value(running.turns); });
  const int turns = await(before.get_future());
  std::promise<int> after;
  running.loop.post_after_real(std::chrono::milliseconds{1}, [&] { after.set_value(running.turns); });
  EXPECT_GT(await(after.get_future()), turns);
}

TEST(Loop, FiresTimersInTheOrderOfTheirTime) {
  Running running;
  std::vector<int> seen;
  std::promise<void> last;
  ASSERT_TRUE(running.loop.run([&] {
    running.loop.post_after(std::chrono::milliseconds{30}, [&] {
      seen.push_back(3);
      last.set_value();
    });
    running.loop.post_after(std::chrono::milliseconds{10}, [&] { seen.push_back(1); });
    running.loop.post_after(std::chrono::milliseconds{20}, [&] { seen.push_back(2); });
    running.loop.post([&] { seen.push_back(0); });
  }));
  await(last.get_future());
  ASSERT_TRUE(running.loop.run([] {}));
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Loop, NeverFiresATimerEarly) {
  Running running;
  const MonoTime began = mono_now();
  std::promise<MonoTime> fired;
  running.loop.post_after(std::chrono::milliseconds{5}, [&] { fired.set_value(mono_now()); });
  EXPECT_GE(await(fired.get_future()) - began, std::chrono::milliseconds{5});
}

TEST(Loop, ScalesDelaysButNotRealOnes) {
  Running running(1'000'000);
  std::promise<void> scaled;
  running.loop.post_after(std::chrono::hours{1}, [&] { scaled.set_value(); });
  await(scaled.get_future());
  const MonoTime began = mono_now();
  std::promise<MonoTime> real;
  running.loop.post_after_real(std::chrono::milliseconds{5}, [&] { real.set_value(mono_now()); });
  EXPECT_GE(await(real.get_future()) - began, std::chrono::milliseconds{5});
}

TEST(Loop, DestroysWhatIsQueuedWhenItStops) {
  auto held = std::make_shared<int>(1);
  {
    Running running;
    running.loop.post_after(std::chrono::hours{1}, [held] {});
    EXPECT_GE(held.use_count(), 2);
    running.loop.stop();
    EXPECT_EQ(held.use_count(), 1);
    running.loop.post([held] {});
    EXPECT_EQ(held.use_count(), 1);
    EXPECT_FALSE(running.loop.run([] {}));
  }
}

TEST(Loop, TakesPostsFromManyThreads) {
  Running running;
  std::atomic<int> ran{0};
  std::vector<std::thread> posters;
  for (int i = 0; i < 4; ++i) {
    posters.emplace_back([&] {
      for (int j = 0; j < 5000; ++j) {
        running.loop.post([&] { ++ran; });
        if (j % 100 == 0) running.loop.post_after(std::chrono::microseconds{j}, [&] { ++ran; });
      }
    });
  }
  for (std::thread& poster : posters) poster.join();
  std::promise<void> done;
  running.loop.post_after_real(std::chrono::milliseconds{20}, [&] { done.set_value(); });
  await(done.get_future());
  EXPECT_EQ(ran, 4 * (5000 + 50));
}

TEST(ScaledClock, StartsWhereItIsToldAndRunsFaster) {
  const WallTime start{std::chrono::hours{1}};
  const ScaledClock clock(start, 1'000'000);
  const MonoTime began = mono_now();
  while (mono_now() - began < std::chrono::microseconds{100}) {
  }
  const WallTime now = clock.now();
  EXPECT_GE(now - start, std::chrono::seconds{100});
  EXPECT_LE(now - start, (mono_now() - began + std::chrono::seconds{20}) * 1'000'000);
}

}  // namespace
}  // namespace dripgate::runtime
