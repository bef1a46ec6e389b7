// The numbers that the booking algorithm was specified with: vectors, and the counter-examples that shaped
// it.
#include <gtest/gtest.h>

#include "unit/core/booking_support.h"

namespace dripgate::testing {
namespace {

using core::Spread;
using namespace std::chrono_literals;

// text() of a reserve at `now` ms, of a gate with a generation.
class Vector {
 public:
  Vector(std::vector<core::Limit> limits, Spread spread) : drip(std::move(limits), spread) {}
  std::string r(const std::string& id, core::Units cost, std::int64_t now) {
    return text(drip.reserve(id, cost, ms(now)));
  }
  std::string g(const std::string& id, std::uint32_t generation, std::int64_t now) {
    return text(drip.gate(id, generation, ms(now)));
  }
  void x(const std::string& id, std::int64_t now) { ASSERT_TRUE(drip.release(id, ms(now))); }
  void f(std::int64_t until) { core::freeze(drip.state, ms(until)); }
  [[nodiscard]] core::Units pending() const { return drip.state.pending(); }

  Drip drip;
};

TEST(BookingVectors, EvenSpreadHandsOutTheUnitsOfEachWindowOneByOne) {
  Vector v({window_limit(2, 60s)}, Spread::even);
  EXPECT_EQ(v.r("a", 1, 1000), "NOW");
  EXPECT_EQ(v.r("b", 1, 1000), "NOW");
  EXPECT_EQ(v.r("c", 1, 1000), "AT 60000");
  EXPECT_EQ(v.r("d", 1, 1000), "AT 90000");
  EXPECT_EQ(v.r("e", 1, 1000), "AT 120000");
  EXPECT_EQ(v.r("c", 1, 2000), "AT 60000");
  EXPECT_EQ(v.pending(), 3);
}

TEST(BookingVectors, EarlyAndRepeatedTimersMoveNothing) {
  Vector v({window_limit(2, 60s)}, Spread::start);
  EXPECT_EQ(v.r("a", 2, 1000), "NOW");
  EXPECT_EQ(v.r("b", 1, 1000), "AT 60000");
  EXPECT_EQ(v.g("b", 0, 59999), "REBOOK 60000");
  EXPECT_EQ(v.g("b", 0, 60000), "DUPLICATE");
  EXPECT_EQ(v.g("b", 1, 60000), "GO");
  ASSERT_TRUE(v.drip.settle("b"));
  EXPECT_EQ(v.g("b", 1, 60001), "DUPLICATE");
}

TEST(BookingVectors, ACostAboveTheLimitIsImpossibleAndBigCostsKeepTheOrder) {
  Vector v({window_limit(2, 60s)}, Spread::start);
  EXPECT_EQ(v.r("a", 3, 1000), "IMPOSSIBLE");
  EXPECT_EQ(v.r("b", 2, 1000), "NOW");
  EXPECT_EQ(v.r("c", 2, 1000), "AT 60000");
  EXPECT_EQ(v.r("d", 1, 1000), "AT 120000");
}

TEST(BookingVectors, TheHorizonSpendsNothingAndTheClockIsClamped) {
  Vector v({window_limit(2, 60s)}, Spread::start);
  v.drip.policy.max_delay = 59s;
  EXPECT_EQ(v.r("a", 2, 1000), "NOW");
  EXPECT_EQ(v.r("b", 1, 1000), "AT 60000");
  EXPECT_EQ(v.r("c", 1, 999), "AT 60000");
  EXPECT_EQ(v.drip.records["c"]->first_received, ms(1000));
  EXPECT_EQ(v.r("d", 2, 1000), "BEYOND 120000");
  EXPECT_EQ(v.pending(), 2);
  EXPECT_FALSE(v.drip.records["d"].has_value());
}

TEST(BookingVectors, ALoweredLimitSendsTheExcessToTheTail) {
  Vector v({window_limit(4, 60s)}, Spread::start);
  EXPECT_EQ(v.r("a", 4, 0), "NOW");
  for (const char* id : {"0", "1", "2", "3"}) EXPECT_EQ(v.r(id, 1, 0), "AT 60000");
  v.drip.policy.limits = {window_limit(2, 60s)};
  EXPECT_EQ(v.g("0", 0, 60000), "GO");
  EXPECT_EQ(v.g("1", 0, 60000), "GO");
  EXPECT_EQ(v.g("2", 0, 60000), "REBOOK 120000");
  EXPECT_EQ(v.g("3", 0, 60000), "REBOOK 120000");
  EXPECT_EQ(v.r("n", 1, 60001), "AT 180000");
}

TEST(BookingVectors, NewcomersStandBehindTheOverdueAndTheOverdueUseTheRoomKept) {
  Vector v({window_limit(2, 60s)}, Spread::start);
  EXPECT_EQ(v.r("a", 2, 0), "NOW");
  EXPECT_EQ(v.r("1", 1, 0), "AT 60000");
  EXPECT_EQ(v.r("2", 1, 0), "AT 60000");
  EXPECT_EQ(v.r("3", 1, 0), "AT 120000");
  EXPECT_EQ(v.r("n", 1, 190000), "AT 240000");
  EXPECT_EQ(v.g("1", 0, 190001), "GO");
  EXPECT_EQ(v.g("2", 0, 190002), "GO");
  EXPECT_EQ(v.g("3", 0, 190003), "REBOOK 240000");
  EXPECT_EQ(v.r("m", 1, 190004), "AT 300000");
}

TEST(BookingVectors, NewcomersPassWhereThereIsRoomForAllOverdueAndThem) {
  Vector v({window_limit(3, 60s)}, Spread::start);
  EXPECT_EQ(v.r("a", 3, 0), "NOW");
  EXPECT_EQ(v.r("1", 1, 0), "AT 60000");
  EXPECT_EQ(v.r("n", 1, 70000), "NOW");
  EXPECT_EQ(v.r("m", 1, 70000), "NOW");
  EXPECT_EQ(v.r("o", 1, 70000), "AT 120000");
  EXPECT_EQ(v.g("1", 0, 70001), "GO");
}

TEST(BookingVectors, NobodyIsReleasedInAFreezeAndTheLongestFreezeWins) {
  Vector v({window_limit(2, 60s)}, Spread::even);
  EXPECT_EQ(v.r("a", 2, 0), "NOW");
  EXPECT_EQ(v.r("1", 1, 0), "AT 60000");
  EXPECT_EQ(v.r("2", 1, 0), "AT 90000");
  v.f(100000);
  EXPECT_EQ(v.r("n", 1, 55000), "AT 120000");
  EXPECT_EQ(v.g("1", 0, 60000), "REBOOK 100000");
  EXPECT_EQ(v.g("2", 0, 90000), "REBOOK 100000");
  v.f(80000);
  EXPECT_EQ(v.g("n", 0, 120000), "GO");
  EXPECT_EQ(v.g("1", 1, 120000), "GO");
}

TEST(BookingVectors, TwoWindowsTogether) {
  Vector v({window_limit(2, 1s), window_limit(3, 60s)}, Spread::start);
  const std::vector<std::string> expected{"NOW",      "NOW",       "AT 59000",  "AT 60000", "AT 60000",
                                          "AT 61000", "AT 120000", "AT 120000", "AT 121000"};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(v.r(std::to_string(i), 1, 58500), expected[i]) << i;
}

TEST(BookingVectors, ATokenBucketBooksOnePerRefillBehindItsBurst) {
  Vector v({bucket_limit(3, 60s, 2)}, Spread::start);
  EXPECT_EQ(v.r("0", 1, 1000), "NOW");
  EXPECT_EQ(v.r("1", 1, 1000), "NOW");
  EXPECT_EQ(v.r("2", 1, 1000), "AT 21000");
  EXPECT_EQ(v.r("3", 1, 1000), "AT 41000");
  EXPECT_EQ(v.g("2", 0, 21000), "GO");
  EXPECT_EQ(v.g("3", 0, 39999), "REBOOK 41000");
  EXPECT_EQ(v.g("3", 0, 70000), "DUPLICATE");
  EXPECT_EQ(v.g("3", 1, 70000), "GO");
  // Theoretical arrival 90000 ms: 270000 in the specification's unit of arrival times limit.
  EXPECT_EQ(v.drip.state.released[0].at, ms(90000));
  EXPECT_EQ(v.drip.state.released[0].units, 0);
}

TEST(BookingVectors, ASlidingLogCountsRealReleaseTimes) {
  Vector v({log_limit(2, 60s)}, Spread::start);
  EXPECT_EQ(v.r("0", 1, 0), "NOW");
  EXPECT_EQ(v.r("1", 1, 30000), "NOW");
  EXPECT_EQ(v.r("2", 1, 30000), "AT 60000");
  EXPECT_EQ(v.r("3", 1, 30000), "AT 90000");
  EXPECT_EQ(v.g("2", 0, 85000), "GO");
  EXPECT_EQ(v.g("3", 0, 90000), "GO");
  EXPECT_EQ(v.r("4", 1, 90000), "AT 145000");
}

TEST(BookingVectors, UnitsGivenBackInTheTailsWindowAreUsedAgain) {
  Vector v({window_limit(2, 60s)}, Spread::start);
  EXPECT_EQ(v.r("a", 2, 0), "NOW");
  EXPECT_EQ(v.r("1", 1, 0), "AT 60000");
  EXPECT_EQ(v.r("2", 1, 0), "AT 60000");
  v.x("2", 0);
  EXPECT_EQ(v.r("3", 1, 0), "AT 60000");
  v.x("1", 0);
  v.x("3", 0);
  EXPECT_EQ(v.r("4", 1, 0), "AT 60000");
  EXPECT_EQ(v.pending(), 1);
}

TEST(BookingVectors, AClockThatStepsBackIsClamped) {
  Vector v({window_limit(1, 60s)}, Spread::start);
  EXPECT_EQ(v.r("a", 1, 60000), "NOW");
  EXPECT_EQ(v.r("b", 1, 59000), "AT 120000");
  EXPECT_EQ(v.g("b", 0, 119000), "REBOOK 120000");
  EXPECT_EQ(v.g("b", 1, 120000), "GO");
}

}  // namespace
}  // namespace dripgate::testing
