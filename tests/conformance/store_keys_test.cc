// The BookingStore port on every backend: what is said of a whole key (freeze, reset, inspect), the store's
// clock, a store that was emptied, and how long things are remembered. Times are milliseconds.
#include "conformance/booking_fixture.h"
#include "conformance/redis_backend.h"

namespace dripgate::testing {
namespace {

class BookingKeys : public BookingConformance {
 protected:
  static constexpr Milliseconds kHour = 3'600'000;
};

INSTANTIATE_TEST_SUITE_P(Backends, BookingKeys, ::testing::ValuesIn(all_backends()), backend_name);
INSTANTIATE_TEST_SUITE_P(OnCluster, BookingKeys, ::testing::Values(redis_cluster_backend()), backend_name);

TEST_P(BookingKeys, NobodyPassesAFrozenKeyAndTheLongestFreezeWins) {
  clock.set(ms(1000));
  EXPECT_TRUE(freeze(30000));
  EXPECT_TRUE(freeze(20000));
  EXPECT_EQ(r("a", 1, 2000), "AT 30000");
  EXPECT_EQ(g("a", 0, 29999), "REBOOK 30000");
  EXPECT_TRUE(freeze(40000));
  EXPECT_EQ(g("a", 1, 30000), "REBOOK 40000");
  EXPECT_EQ(g("a", 2, 40000), "GO");
}

TEST_P(BookingKeys, AThawFreesAtOnce) {
  EXPECT_TRUE(freeze(kHour));
  EXPECT_EQ(inspect().frozen_until, ms(kHour));
  EXPECT_TRUE(thaw());
  EXPECT_EQ(inspect().frozen_until, std::nullopt);
  EXPECT_EQ(r("a", 1, 10), "NOW");
  key = "payouts:never_seen";
  EXPECT_TRUE(thaw());
  EXPECT_EQ(r("a", 1, 10), "NOW");
}

TEST_P(BookingKeys, AFreezeOfAnUnusedKeyLastsAsLongAsItSays) {
  EXPECT_TRUE(freeze(200 * kHour));
  clock.set(ms(199 * kHour));
  EXPECT_EQ(inspect().frozen_until, ms(200 * kHour));
  EXPECT_EQ(inspect().next_slot, ms(200 * kHour));
  EXPECT_EQ(r("a", 1, 200 * kHour), "NOW");
}

TEST_P(BookingKeys, AFreezeDoesNotFreezeOtherKeys) {
  EXPECT_TRUE(freeze(kHour));
  key = "payouts:merchant_2:payout";
  EXPECT_EQ(r("a", 1, 0), "NOW");
}

TEST_P(BookingKeys, ResetStartsTheKeyFreshButKnowsItsEvents) {
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_TRUE(done("a", 0));
  EXPECT_EQ(r("b", 1, 0), "AT 60000");
  EXPECT_TRUE(reset());
  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(inspect().released, std::vector<core::Units>{0});
  EXPECT_EQ(r("a", 2, 1), "DUPLICATE");
  EXPECT_EQ(r("b", 1, 1), "AT 60000");
  EXPECT_EQ(r("c", 2, 2), "NOW");
  // The booking of before goes in its turn, once, and is not counted as pending.
  EXPECT_EQ(r("d", 1, 3), "AT 60000");
  EXPECT_EQ(g("b", 0, 60000), "GO");
  EXPECT_EQ(pending(), 1);
  EXPECT_EQ(g("d", 0, 60000), "GO");
  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(r("e", 1, 60000), "AT 120000");
}

TEST_P(BookingKeys, AReleaseOfABookingFromBeforeAResetTakesNothingFromTheFreshKey) {
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(r("b", 1, 0), "AT 60000");
  EXPECT_TRUE(reset());
  EXPECT_EQ(r("c", 2, 0), "NOW");
  EXPECT_EQ(r("d", 2, 0), "AT 60000");
  EXPECT_TRUE(release("b", 0));
  EXPECT_EQ(pending(), 2);
  EXPECT_EQ(r("e", 1, 0), "AT 120000");
}

TEST_P(BookingKeys, ResetLeavesAFreeze) {
  EXPECT_EQ(r("a", 1, 0), "NOW");
  EXPECT_TRUE(freeze(50000));
  EXPECT_TRUE(reset());
  EXPECT_EQ(r("b", 1, 1), "AT 50000");
  key = "payouts:never_seen";
  EXPECT_TRUE(reset());
  EXPECT_EQ(r("a", 1, 1), "NOW");
}

TEST_P(BookingKeys, InspectShowsTheKeyAndChangesNothing) {
  use({per(2, 60s), per(3, std::chrono::hours{1})});
  EXPECT_EQ(inspect().next_slot, ms(0));
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  EXPECT_EQ(r("b", 1, 1000), "AT 60000");
  for (int i = 0; i < 3; ++i) {
    const core::KeyView view = inspect();
    EXPECT_EQ(view.now, ms(1000));
    EXPECT_EQ(view.pending, 1);
    EXPECT_EQ(view.last_slot, ms(60000));
    EXPECT_EQ(view.next_slot, ms(kHour));
    EXPECT_EQ(view.frozen_until, std::nullopt);
    EXPECT_EQ(view.released, (std::vector<core::Units>{2, 2}));
  }
  EXPECT_EQ(r("c", 1, 1000), "AT " + std::to_string(kHour));
}

TEST_P(BookingKeys, AClockStepOfFiveSecondsIsBridgedAndALargerOneIsAFailure) {
  use({per(1, 60s)});
  EXPECT_EQ(r("a", 1, 60000), "NOW");
  EXPECT_EQ(r("b", 1, 55000), "AT 120000");
  EXPECT_EQ(g("b", 0, 54999), "ERROR clock_stepped_back");
  EXPECT_EQ(r("c", 1, 54999), "ERROR clock_stepped_back");
  // Nothing changed, and it is over when the clock is back.
  EXPECT_EQ(r("b", 1, 60001), "AT 120000");
  EXPECT_EQ(r("c", 1, 60001), "AT 180000");
  EXPECT_EQ(pending(), 2);
  EXPECT_EQ(g("b", 0, 120000), "GO");
}

TEST_P(BookingKeys, AClockStepHoldsForKeysThatWereNeverSeen) {
  EXPECT_EQ(r("a", 1, 60000), "NOW");
  key = "payouts:another";
  EXPECT_EQ(r("b", 2, 58000), "NOW");
  EXPECT_EQ(r("c", 1, 58000), "AT 120000");
  EXPECT_EQ(r("d", 1, 54999), "ERROR clock_stepped_back");
}

TEST_P(BookingKeys, TheGateOfAnEmptiedStoreTakesTheTicketAsTheReservation) {
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  EXPECT_EQ(r("b", 1, 1000), "AT 60000");
  EXPECT_EQ(r("c", 2, 1000), "AT 120000");
  under->empty();
  EXPECT_EQ(g("b", 0, 60000), "GO");
  EXPECT_EQ(inspect().released, std::vector<core::Units>{1});
  EXPECT_EQ(pending(), 0);
  EXPECT_TRUE(done("b", 0));
  EXPECT_EQ(r("b", 1, 60001), "DUPLICATE");
  EXPECT_EQ(g("c", 0, 120000), "GO");
}

TEST_P(BookingKeys, NewcomersOfAKeyWithUnknownHistoryWaitForAWindow) {
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  EXPECT_EQ(r("b", 1, 1000), "AT 60000");
  under->empty();
  EXPECT_EQ(g("b", 0, 60000), "GO");
  EXPECT_EQ(r("n", 1, 60001), "AT 120000");
  EXPECT_EQ(g("n", 0, 120000), "GO");
  EXPECT_EQ(r("m", 1, 120000), "NOW");
}

TEST_P(BookingKeys, AnEmptiedStoreStillRebooksAnEarlyTicket) {
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  EXPECT_EQ(r("b", 1, 1000), "AT 60000");
  under->empty();
  EXPECT_EQ(g("b", 0, 59000), "REBOOK 60000");
  EXPECT_EQ(pending(), 1);
  EXPECT_EQ(g("b", 0, 60000), "DUPLICATE");
  EXPECT_EQ(g("b", 1, 60000), "GO");
  EXPECT_EQ(pending(), 0);
}

TEST_P(BookingKeys, AnIdIsRememberedForItsRetentionAfterTheSlot) {
  policy.id_retention = std::chrono::hours{24};
  policy.max_delay = std::chrono::hours{48};
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_TRUE(done("a", 0));
  EXPECT_EQ(r("b", 1, 0), "AT 60000");
  EXPECT_EQ(r("a", 2, 24 * kHour - 1), "DUPLICATE");
  EXPECT_EQ(g("b", 0, 24 * kHour), "GO");
  EXPECT_TRUE(done("b", 0));
  EXPECT_EQ(r("b", 1, 48 * kHour - 1), "DUPLICATE");
  // Then it is a new event. (The id may be kept a little longer, not an hour.)
  EXPECT_EQ(r("a", 2, 25 * kHour + 48 * kHour), "NOW");
  EXPECT_EQ(r("b", 1, 25 * kHour + 48 * kHour), "AT " + std::to_string(73 * kHour + 60000));
}

TEST_P(BookingKeys, AKeyIsKeptAsLongAsItsEvents) {
  policy.id_retention = std::chrono::hours{24 * 20};
  policy.max_delay = std::chrono::hours{1};
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(r("b", 1, 0), "AT 60000");  // its timer is lost for ten days
  EXPECT_EQ(r("c", 1, 240 * kHour), "NOW");
  EXPECT_EQ(g("b", 0, 240 * kHour + 1), "GO");
  EXPECT_EQ(r("d", 1, 240 * kHour + 2), "AT " + std::to_string(240 * kHour + 60000));
  EXPECT_EQ(pending(), 1);
}

TEST_P(BookingKeys, LostTimersLeaveThePendingCount) {
  use({per(1, 60s)});
  EXPECT_EQ(r("a", 1, 0), "NOW");
  EXPECT_EQ(r("lost", 1, 0), "AT 60000");
  EXPECT_EQ(pending(), 1);
  EXPECT_EQ(r("b", 1, 2 * kHour), "AT " + std::to_string(2 * kHour + 60000));
  EXPECT_EQ(g("b", 0, 2 * kHour + 60000), "GO");
  EXPECT_EQ(r("c", 1, 4 * kHour), "NOW");
  EXPECT_EQ(pending(), 0);
}

TEST_P(BookingKeys, AnIdleKeyIsForgottenAndStartsFresh) {
  for (int i = 0; i < 40; ++i) {
    key = "payouts:" + std::to_string(i);
    EXPECT_EQ(r("a", 2, 0), "NOW");
  }
  clock.set(ms(24 * 100 * kHour));
  for (int i = 0; i < 40; ++i) {
    key = "payouts:" + std::to_string(i);
    EXPECT_EQ(inspect().next_slot, clock.now());
    EXPECT_EQ(words(try_reserve(request("a", 2))), "NOW");
  }
}

}  // namespace
}  // namespace dripgate::testing
