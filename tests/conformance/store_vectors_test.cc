// The vectors of docs/booking.md, through the port, on every backend. Times are milliseconds.
#include "conformance/booking_fixture.h"
#include "conformance/redis_backend.h"

namespace dripgate::testing {
namespace {

class BookingVectors : public BookingConformance {};

INSTANTIATE_TEST_SUITE_P(Backends, BookingVectors, ::testing::ValuesIn(all_backends()), backend_name);
INSTANTIATE_TEST_SUITE_P(OnCluster, BookingVectors, ::testing::Values(redis_cluster_backend()), backend_name);

TEST_P(BookingVectors, EvenSpreadPlacesUnitsByOffset) {
  use({per(2, 60s)}, core::Spread::even);
  EXPECT_EQ(r("a", 1, 1000), "NOW");
  EXPECT_EQ(r("b", 1, 1000), "NOW");
  EXPECT_EQ(r("c", 1, 1000), "AT 60000");
  EXPECT_EQ(r("d", 1, 1000), "AT 90000");
  EXPECT_EQ(r("e", 1, 1000), "AT 120000");
  EXPECT_EQ(r("c", 1, 2000), "AT 60000");
  EXPECT_EQ(pending(), 3);
}

TEST_P(BookingVectors, AnEarlyTimerGetsTheSameSlotAndAnOldOneIsADuplicate) {
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  EXPECT_EQ(r("b", 1, 1000), "AT 60000");
  EXPECT_EQ(g("b", 0, 59999), "REBOOK 60000");
  EXPECT_EQ(g("b", 0, 60000), "DUPLICATE");
  EXPECT_EQ(g("b", 1, 60000), "GO");
  EXPECT_EQ(done("b", 1).has_value(), true);
  EXPECT_EQ(g("b", 1, 60001), "DUPLICATE");
}

TEST_P(BookingVectors, ACostAboveTheLimitIsImpossibleAndSpendsNothing) {
  EXPECT_EQ(r("a", 3, 1000), "IMPOSSIBLE");
  EXPECT_EQ(r("b", 2, 1000), "NOW");
  EXPECT_EQ(r("c", 2, 1000), "AT 60000");
  EXPECT_EQ(r("d", 1, 1000), "AT 120000");
}

TEST_P(BookingVectors, TheHorizonIsInclusiveAndRunsFromTheClampedClock) {
  policy.max_delay = 59000ms;
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  EXPECT_EQ(r("b", 1, 1000), "AT 60000");
  EXPECT_EQ(r("c", 1, 999), "AT 60000");
  EXPECT_EQ(r("d", 2, 1000), "BEYOND 120000");
  EXPECT_EQ(pending(), 2);
}

TEST_P(BookingVectors, ALoweredLimitMovesTheExcessToTheTailOnce) {
  use({per(4, 60s)});
  EXPECT_EQ(r("a", 4, 0), "NOW");
  for (const char* id : {"0", "1", "2", "3"}) EXPECT_EQ(r(id, 1, 0), "AT 60000");
  use({per(2, 60s)});
  EXPECT_EQ(g("0", 0, 60000), "GO");
  EXPECT_EQ(g("1", 0, 60000), "GO");
  EXPECT_EQ(g("2", 0, 60000), "REBOOK 120000");
  EXPECT_EQ(g("3", 0, 60000), "REBOOK 120000");
  EXPECT_EQ(r("n", 1, 60001), "AT 180000");
}

TEST_P(BookingVectors, NewcomersStandBehindWhatIsOverdue) {
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(r("1", 1, 0), "AT 60000");
  EXPECT_EQ(r("2", 1, 0), "AT 60000");
  EXPECT_EQ(r("3", 1, 0), "AT 120000");
  EXPECT_EQ(r("n", 1, 190000), "AT 240000");
  EXPECT_EQ(g("1", 0, 190001), "GO");
  EXPECT_EQ(g("2", 0, 190002), "GO");
  EXPECT_EQ(g("3", 0, 190003), "REBOOK 240000");
  EXPECT_EQ(r("m", 1, 190004), "AT 300000");
}

TEST_P(BookingVectors, NewcomersPassWhereRoomIsLeftForWhatIsOverdue) {
  use({per(3, 60s)});
  EXPECT_EQ(r("a", 3, 0), "NOW");
  EXPECT_EQ(r("1", 1, 0), "AT 60000");
  EXPECT_EQ(r("n", 1, 70000), "NOW");
  EXPECT_EQ(r("m", 1, 70000), "NOW");
  EXPECT_EQ(r("o", 1, 70000), "AT 120000");
  EXPECT_EQ(g("1", 0, 70001), "GO");
}

TEST_P(BookingVectors, AFreezeMovesBookingsBehindItAndTheLongestWins) {
  use({per(2, 60s)}, core::Spread::even);
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(r("1", 1, 0), "AT 60000");
  EXPECT_EQ(r("2", 1, 0), "AT 90000");
  EXPECT_TRUE(freeze(100000));
  EXPECT_EQ(r("n", 1, 55000), "AT 120000");
  EXPECT_EQ(g("1", 0, 60000), "REBOOK 100000");
  EXPECT_EQ(g("2", 0, 90000), "REBOOK 100000");
  EXPECT_TRUE(freeze(80000));
  EXPECT_EQ(inspect().frozen_until, ms(100000));
  EXPECT_EQ(g("n", 0, 120000), "GO");
  EXPECT_EQ(g("1", 1, 120000), "GO");
}

TEST_P(BookingVectors, SeveralLimitsFindTheEarliestCommonWindow) {
  use({per(2, 1s), per(3, 60s)});
  std::vector<std::string> got;
  for (int i = 0; i < 9; ++i) got.push_back(r(std::to_string(i), 1, 58500));
  const std::vector<std::string> expected{"NOW",      "NOW",       "AT 59000",  "AT 60000", "AT 60000",
                                          "AT 61000", "AT 120000", "AT 120000", "AT 121000"};
  EXPECT_EQ(got, expected);
}

TEST_P(BookingVectors, ABucketBooksOnePerRefillAndGatesAtItsCapacity) {
  use({bucket(3, 60s, 2)});
  EXPECT_EQ(r("0", 1, 1000), "NOW");
  EXPECT_EQ(r("1", 1, 1000), "NOW");
  EXPECT_EQ(r("2", 1, 1000), "AT 21000");
  EXPECT_EQ(r("3", 1, 1000), "AT 41000");
  EXPECT_EQ(g("2", 0, 21000), "GO");
  EXPECT_EQ(g("3", 0, 39999), "REBOOK 41000");
  EXPECT_EQ(g("3", 0, 70000), "DUPLICATE");
  EXPECT_EQ(g("3", 1, 70000), "GO");
  EXPECT_EQ(inspect().released, std::vector<core::Units>{1});  // 1.0 of 2 units missing: full again at 90000
}

TEST_P(BookingVectors, ASlidingLogIsPlannedWithHeadroomAndGatedByRealReleases) {
  use({log_of(20, 60s)});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(r("a" + std::to_string(i), 1, 0), "NOW");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(r("b" + std::to_string(i), 1, 30000), "NOW");
  // Planned at 19: nine more when the first ten have left, then ten more behind the second ten.
  for (int i = 0; i < 9; ++i) EXPECT_EQ(r("c" + std::to_string(i), 1, 30000), "AT 60000");
  EXPECT_EQ(r("d", 1, 30000), "AT 90000");
  EXPECT_EQ(g("c0", 0, 85000), "GO");  // late by 25 s: it counts where it was released
  for (int i = 1; i < 9; ++i) EXPECT_EQ(g("c" + std::to_string(i), 0, 85000), "GO");
  EXPECT_EQ(inspect().released, std::vector<core::Units>{19});
  EXPECT_EQ(r("n", 11, 85000).substr(0, 3), "AT ");
  EXPECT_EQ(g("d", 0, 90000), "GO");
}

TEST_P(BookingVectors, GivenBackUnitsReturnToTheWindowThatHoldsTheTail) {
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(r("1", 1, 0), "AT 60000");
  EXPECT_EQ(r("2", 1, 0), "AT 60000");
  EXPECT_TRUE(release("2", 0));
  EXPECT_EQ(r("3", 1, 0), "AT 60000");
  EXPECT_TRUE(release("1", 0));
  EXPECT_TRUE(release("3", 0));
  EXPECT_EQ(r("4", 1, 0), "AT 60000");
  EXPECT_EQ(pending(), 1);
}

TEST_P(BookingVectors, AClockThatStepsBackIsHeld) {
  use({per(1, 60s)});
  EXPECT_EQ(r("a", 1, 60000), "NOW");
  EXPECT_EQ(r("b", 1, 59000), "AT 120000");
  EXPECT_EQ(g("b", 0, 119000), "REBOOK 120000");
  EXPECT_EQ(g("b", 1, 120000), "GO");
}

TEST_P(BookingVectors, ABurstOfFiveHundredLeavesAHundredPerMinute) {
  use({per(100, 60s)}, core::Spread::even);
  std::map<std::string, int> released_in;
  for (int i = 0; i < 500; ++i) {
    const std::string answer = r("pay_" + std::to_string(i), 1, 1000);
    if (answer == "NOW") {
      ++released_in["now"];
      continue;
    }
    const std::int64_t slot = std::stoll(answer.substr(3));
    EXPECT_EQ(slot, 60000 * (i / 100) + 600 * (i % 100));
    ++released_in[std::to_string(slot / 60000)];
  }
  EXPECT_EQ(released_in,
            (std::map<std::string, int>{{"now", 100}, {"1", 100}, {"2", 100}, {"3", 100}, {"4", 100}}));
  EXPECT_EQ(pending(), 400);
  for (int i = 100; i < 500; ++i) {
    const std::string id = "pay_" + std::to_string(i);
    EXPECT_EQ(g(id, 0, to_us(tickets[id].slot) / 1000), "GO");
  }
  EXPECT_EQ(pending(), 0);
}

TEST_P(BookingVectors, ACalendarDayEndsAtLocalMidnight) {
  // A zone of half past five ahead of UTC: its day turns at 18:30 UTC.
  const auto zone = std::make_shared<Zone>(Zone{"Test/Ahead", {{kLongAgo, std::chrono::minutes{330}}}});
  core::Limit day = per(1, std::chrono::hours{24});
  day.zone = zone;
  use({day});
  constexpr Milliseconds kHour = 3'600'000;
  EXPECT_EQ(r("a", 1, 18 * kHour), "NOW");
  EXPECT_EQ(r("b", 1, 18 * kHour), "AT " + std::to_string(18 * kHour + kHour / 2));
  EXPECT_EQ(g("b", 0, 18 * kHour + kHour / 2), "GO");
  EXPECT_EQ(r("c", 1, 18 * kHour + kHour / 2), "AT " + std::to_string(42 * kHour + kHour / 2));
}

}  // namespace
}  // namespace dripgate::testing
