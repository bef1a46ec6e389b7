// The breaker's rules, one by one, on a clock that the test sets.
#include "core/breaker.h"

#include <gtest/gtest.h>

namespace dripgate::core {
namespace {

using namespace std::chrono_literals;
using State = Breaker::State;

class BreakerTest : public ::testing::Test {
 protected:
  void fail(int times = 1, Duration apart = 0us) { report(times, apart, false); }
  void succeed(int times = 1, Duration apart = 0us) { report(times, apart, true); }
  void open() {
    fail(5, 5ms);
    ASSERT_EQ(breaker.state(now), State::open);
  }
  Breaker::Permit probe() {
    now = breaker.retry_at();
    const auto permit = breaker.admit(now);
    EXPECT_TRUE(permit && permit->probe > 0);
    return permit.value_or(Breaker::Permit{});
  }

  MonoTime now{1h};
  Breaker breaker;

 private:
  void report(int times, Duration apart, bool good) {
    for (int i = 0; i < times; ++i) {
      const auto permit = breaker.admit(now);
      ASSERT_TRUE(permit);
      good ? breaker.succeeded(*permit, now) : breaker.failed(*permit, now);
      if (i + 1 < times) now += apart;
    }
  }
};

TEST_F(BreakerTest, OneTimeoutNeverOpensItHoweverFewCallsThereAre) {
  for (int i = 0; i < 40; ++i, now += 1s) fail();
  EXPECT_EQ(breaker.state(now), State::closed) << "never five within two seconds";
  Breaker strict({.failures_min = 0, .failure_percent = 0, .streak_span = 0us});
  strict.failed(*strict.admit(now), now);
  EXPECT_EQ(strict.state(now), State::closed) << "below 2 counts as 2";
}

TEST_F(BreakerTest, HalfOfAWindowsCallsOpenIt) {
  succeed(4, 1ms);
  fail(3);
  EXPECT_EQ(breaker.state(now), State::closed);
  fail();
  EXPECT_EQ(breaker.state(now), State::closed) << "four of eight, but fewer than failures_min";
  fail();
  EXPECT_EQ(breaker.state(now), State::open);
  EXPECT_FALSE(breaker.admit(now));
}

TEST_F(BreakerTest, AStoreThatIsGoneOpensItBeforeItsSuccessesAreOutweighed) {
  succeed(10'000);
  fail(4, 5ms);
  now += 4999us;
  fail();
  EXPECT_EQ(breaker.state(now), State::closed) << "five in a row within 19.999 ms";
  now += 1us;
  fail();
  EXPECT_EQ(breaker.state(now), State::open);
}

TEST_F(BreakerTest, OneStallThatFailsEverythingInFlightIsNotEnough) {
  succeed(10'000);
  fail(500);
  succeed();
  now += 1s;
  fail(4, 5ms);
  EXPECT_EQ(breaker.state(now), State::closed) << "the success began a new count";
}

TEST_F(BreakerTest, FailuresOlderThanTheWindowAreForgotten) {
  succeed(10);
  fail(4, 1ms);
  now += 2001ms;
  fail(4, 1ms);
  EXPECT_EQ(breaker.state(now), State::closed);
  fail();
  EXPECT_EQ(breaker.state(now), State::open);
}

TEST_F(BreakerTest, HalfOpenLetsOneProbeThroughAndASuccessClosesIt) {
  open();
  EXPECT_EQ(breaker.retry_at() - now, 100ms);
  now = breaker.retry_at() - 1us;
  EXPECT_FALSE(breaker.admit(now));
  const auto permit = probe();
  EXPECT_EQ(breaker.state(now), State::half_open);
  EXPECT_FALSE(breaker.admit(now)) << "one at a time";
  breaker.succeeded(permit, now);
  EXPECT_EQ(breaker.state(now), State::closed);
  fail(4, 10ms);
  EXPECT_EQ(breaker.state(now), State::closed) << "it begins with a clean window";
}

TEST_F(BreakerTest, EveryFailedProbeDoublesThePauseUpToItsBound) {
  open();
  for (const Duration pause : {200ms, 400ms, 400ms, 400ms}) {
    breaker.failed(probe(), now);
    EXPECT_EQ(breaker.state(now), State::open);
    EXPECT_EQ(breaker.retry_at() - now, pause);
  }
  breaker.succeeded(probe(), now);
  open();
  EXPECT_EQ(breaker.retry_at() - now, 100ms) << "after a recovery it begins anew";
}

TEST_F(BreakerTest, AProbeThatIsNeverReportedMakesRoomForTheNext) {
  open();
  const auto lost = probe();
  EXPECT_EQ(breaker.retry_at() - now, 1s);
  const auto next = probe();
  breaker.succeeded(lost, now);
  EXPECT_EQ(breaker.state(now), State::half_open) << "too late to count";
  breaker.succeeded(next, now);
  EXPECT_EQ(breaker.state(now), State::closed);
}

TEST_F(BreakerTest, AnswersToCallsOfAnOlderStateChangeNothing) {
  const auto old = breaker.admit(now);
  open();
  breaker.succeeded(*old, now);
  EXPECT_EQ(breaker.state(now), State::open);
  breaker.succeeded(probe(), now);
  for (int i = 0; i < 100; ++i) breaker.failed(*old, now);
  EXPECT_EQ(breaker.state(now), State::closed);
}

}  // namespace
}  // namespace dripgate::core
