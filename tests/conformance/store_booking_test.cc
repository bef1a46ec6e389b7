// The BookingStore port on every backend: identity, ends of a booking, repeats. Times are milliseconds.
#include "conformance/booking_fixture.h"
#include "conformance/redis_backend.h"

namespace dripgate::testing {
namespace {

class BookingIdentity : public BookingConformance {};

INSTANTIATE_TEST_SUITE_P(Backends, BookingIdentity, ::testing::ValuesIn(all_backends()), backend_name);
INSTANTIATE_TEST_SUITE_P(OnCluster, BookingIdentity, ::testing::Values(redis_cluster_backend()),
                         backend_name);

TEST_P(BookingIdentity, AskingAgainReturnsTheSlotAndBooksNothing) {
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  EXPECT_EQ(r("b", 1, 1000), "AT 60000");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(r("b", 1, 1001 + i), "AT 60000");
  EXPECT_EQ(pending(), 1);
  EXPECT_EQ(r("c", 1, 2000), "AT 60000");
  EXPECT_EQ(r("d", 1, 2000), "AT 120000");
}

TEST_P(BookingIdentity, AnIdIsOneEventInItsStreamWhateverItsKey) {
  const std::string other = "s:other";
  key = "s:first";
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  EXPECT_EQ(r("b", 1, 1000), "AT 60000");
  auto moved = request("b");
  moved.key = other;  // the same event: its key's template has changed
  EXPECT_EQ(words(try_reserve(moved)), "AT 60000");
  moved.body_digest = 8;  // other bytes under a used id
  EXPECT_EQ(words(try_reserve(moved)), "CONFLICT");
  EXPECT_EQ(pending(), 1);
  key = other;
  EXPECT_EQ(pending(), 0);
  // A ticket that names the other key stands for the same booking.
  tickets.at("b").key = other;
  EXPECT_EQ(g("b", 0, 60000), "GO");
  EXPECT_TRUE(done("b", 0));
  EXPECT_EQ(g("b", 0, 60001), "DUPLICATE");
  key = "s:first";
  EXPECT_EQ(pending(), 0);
  // Another stream has ids of its own.
  key = "t:first";
  EXPECT_EQ(r("b", 1, 60002), "NOW");
}

TEST_P(BookingIdentity, AnIdThatIsOverBelongsToTheNextKeyThatAsks) {
  policy.id_retention = 1h;
  key = "s:first";
  EXPECT_EQ(r("a", 1, 0), "NOW");
  EXPECT_TRUE(done("a", 0));
  key = "s:other";
  EXPECT_EQ(r("a", 1, 2 * 3600 * 1000), "NOW");
  EXPECT_EQ(r("b", 1, 2 * 3600 * 1000), "NOW");
  EXPECT_EQ(r("c", 1, 2 * 3600 * 1000), "AT " + std::to_string(2 * 3600 * 1000 + 60000));
}

TEST_P(BookingIdentity, AReleasedEventAskedAgainInItsWindowIsNotChargedTwice) {
  const auto first = try_reserve(request("a"));
  ASSERT_EQ(words(first), "NOW");
  EXPECT_GT(first->valid_until, first->now);
  EXPECT_EQ(r("a", 1, 10), "NOW");
  EXPECT_EQ(r("a", 1, 20), "NOW");
  EXPECT_EQ(r("b", 1, 30), "NOW");
  EXPECT_EQ(r("c", 1, 40), "AT 60000");
}

TEST_P(BookingIdentity, AReleasedEventAskedAgainInALaterWindowIsChargedThere) {
  EXPECT_EQ(r("a", 1, 1000), "NOW");
  EXPECT_EQ(r("b", 2, 61000), "NOW");
  EXPECT_EQ(r("a", 1, 62000), "AT 120000");
  EXPECT_EQ(g("a", 1, 120000), "GO");
}

TEST_P(BookingIdentity, TheSameIdWithAnotherBodyIsRefusedInEveryState) {
  const auto other_body = [&](const std::string& id) {
    store::ReserveRequest changed = request(id);
    changed.body_digest = 8;
    return words(try_reserve(changed));
  };
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(other_body("a"), "CONFLICT");
  EXPECT_TRUE(done("a", 0));
  EXPECT_EQ(other_body("a"), "CONFLICT");
  EXPECT_EQ(r("b", 1, 0), "AT 60000");
  EXPECT_EQ(other_body("b"), "CONFLICT");
  EXPECT_EQ(r("b", 1, 0), "AT 60000");
  EXPECT_EQ(pending(), 1);
}

TEST_P(BookingIdentity, DoneMakesARepeatADuplicate) {
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_TRUE(done("a", 0));
  EXPECT_EQ(r("a", 2, 1), "DUPLICATE");
  EXPECT_EQ(r("b", 1, 0), "AT 60000");
  EXPECT_EQ(g("b", 0, 60000), "GO");
  EXPECT_TRUE(done("b", 0));
  EXPECT_EQ(r("b", 1, 60001), "DUPLICATE");
  EXPECT_EQ(g("b", 0, 60001), "DUPLICATE");
}

TEST_P(BookingIdentity, DoneOfAnotherGenerationOrAnUnknownEventHasNoEffect) {
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_TRUE(done("a", 9));
  EXPECT_EQ(r("a", 2, 1), "NOW");
  EXPECT_TRUE(done("nobody", 0));
  EXPECT_EQ(r("nobody", 1, 1), "AT 60000");
  EXPECT_TRUE(done("nobody", 0));  // booked, not released
  EXPECT_EQ(r("nobody", 1, 1), "AT 60000");
}

TEST_P(BookingIdentity, GenerationsNeverRestartSoAnOldTimerFiresNothing) {
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(r("b", 1, 0), "AT 60000");
  EXPECT_TRUE(release("b", 0));
  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(r("b", 1, 100), "AT 60000");
  EXPECT_EQ(tickets["b"].generation, 1u);
  EXPECT_EQ(g("b", 0, 60000), "DUPLICATE");
  EXPECT_EQ(g("b", 1, 60000), "GO");
}

TEST_P(BookingIdentity, ReleaseOfAnotherGenerationOrAReleasedEventHasNoEffect) {
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(r("b", 1, 0), "AT 60000");
  EXPECT_TRUE(release("b", 4));
  EXPECT_TRUE(release("a", 0));
  EXPECT_TRUE(release("nobody", 0));
  EXPECT_EQ(pending(), 1);
  EXPECT_EQ(r("a", 2, 1), "NOW");
  EXPECT_EQ(g("b", 0, 60000), "GO");
  EXPECT_TRUE(release("b", 0));
  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(g("b", 0, 60001), "REBOOK 120000");  // still released: waits for its lease
}

TEST_P(BookingIdentity, ReleasingTwiceGivesBackOnce) {
  use({per(3, 60s)});
  EXPECT_EQ(r("a", 3, 0), "NOW");
  for (const char* id : {"1", "2", "3"}) EXPECT_EQ(r(id, 1, 0), "AT 60000");
  EXPECT_TRUE(release("3", 0));
  EXPECT_TRUE(release("3", 0));
  EXPECT_EQ(pending(), 2);
  EXPECT_EQ(r("4", 1, 0), "AT 60000");
  EXPECT_EQ(r("5", 1, 0), "AT 120000");
}

TEST_P(BookingIdentity, TheNextAttemptNamesTheGenerationThatIsOver) {
  EXPECT_EQ(r("a", 1, 0), "NOW");
  EXPECT_TRUE(done("a", 0));
  store::ReserveRequest again = request("a");
  again.after_generation = 0;
  clock.set(ms(10));
  auto answer = try_reserve(again);
  EXPECT_EQ(words(answer), "NOW");
  EXPECT_EQ(answer->generation, 1u);
  // Asked again it is the same attempt, and it was charged.
  answer = try_reserve(again);
  EXPECT_EQ(words(answer), "NOW");
  EXPECT_EQ(answer->generation, 1u);
  EXPECT_EQ(r("b", 1, 20), "AT 60000");
  EXPECT_TRUE(done("a", 1));
  again.after_generation = 1;
  answer = try_reserve(again);
  EXPECT_EQ(words(answer), "AT 60000");
  EXPECT_EQ(answer->generation, 2u);
  EXPECT_EQ(words(try_reserve(again)), "AT 60000");
  EXPECT_EQ(pending(), 2);
}

TEST_P(BookingIdentity, AReplayedDeadLetterGoesThroughReserveWithItsId) {
  policy.max_delay = 100000ms;
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(r("b", 1, 0), "AT 60000");
  EXPECT_TRUE(freeze(100001));
  EXPECT_EQ(g("b", 0, 60000), "BEYOND 100001");
  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(g("b", 0, 60001), "BEYOND 100001");  // whoever was told first may have died
  EXPECT_EQ(r("b", 1, 60002), "DUPLICATE");
  store::ReserveRequest replay = request("b");
  replay.after_generation = 0;
  replay.first_received = ms(110000);
  clock.set(ms(110000));
  const auto answer = try_reserve(replay);
  EXPECT_EQ(words(answer), "NOW");
  EXPECT_EQ(answer->generation, 1u);
}

TEST_P(BookingIdentity, AReleaseWithoutDoneWaitsForItsLeaseAndThenAsksTheGate) {
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(r("b", 1, 0), "AT 60000");
  EXPECT_EQ(g("b", 0, 60000), "GO");
  EXPECT_EQ(g("b", 0, 70000), "REBOOK 120000");
  EXPECT_EQ(g("b", 1, 119999), "REBOOK 120000");
  EXPECT_EQ(r("n", 2, 120000), "NOW");
  EXPECT_EQ(g("b", 2, 120000), "REBOOK 180000");  // charged again, so it needs room
  EXPECT_EQ(g("b", 3, 180000), "GO");
  EXPECT_TRUE(done("b", 3));
  EXPECT_EQ(g("b", 3, 300000), "DUPLICATE");
}

TEST_P(BookingIdentity, TheOldReleaseMaySettleWhileItsTimerWaitsForTheLease) {
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(r("b", 1, 0), "AT 60000");
  EXPECT_EQ(g("b", 0, 60000), "GO");
  EXPECT_EQ(g("b", 0, 70000), "REBOOK 120000");
  EXPECT_TRUE(done("b", 0));
  EXPECT_EQ(g("b", 1, 120000), "DUPLICATE");
}

TEST_P(BookingIdentity, KeysAreIndependentAndSoIsAnIdUnderTwoKeys) {
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(r("b", 1, 0), "AT 60000");
  key = "payouts:merchant_2:payout";
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(pending(), 0);
  key = "payouts:merchant_1:payout";
  EXPECT_EQ(pending(), 1);
}

TEST_P(BookingIdentity, NamesMayHoldAnyBytes) {
  key = std::string("p:\0\x01'\"; \xff\n", 10);
  const std::string id("\0id\xfe", 4);
  EXPECT_EQ(r(id, 2, 0), "NOW");
  EXPECT_TRUE(done(id, 0));
  EXPECT_EQ(r(id, 2, 0), "DUPLICATE");
  EXPECT_EQ(r(std::string("\0id", 3), 1, 0), "AT 60000");
}

TEST_P(BookingIdentity, TheHorizonCountsFromFirstReceipt) {
  policy.max_delay = 60000ms;
  EXPECT_EQ(r("a", 2, 1000), "NOW");
  store::ReserveRequest early = request("b");
  early.first_received = from_us(-1);
  EXPECT_EQ(words(try_reserve(early)), "BEYOND 60000");
  early.first_received = from_us(0);
  const auto answer = try_reserve(early);
  EXPECT_EQ(words(answer), "AT 60000");
  EXPECT_EQ(answer->first_received, from_us(0));
  EXPECT_EQ(pending(), 1);
}

TEST_P(BookingIdentity, ARequestThatMeansNothingIsRefusedAndChangesNothing) {
  EXPECT_EQ(r("a", 0, 0), "ERROR invalid_argument");
  EXPECT_EQ(r("a", -1, 0), "ERROR invalid_argument");
  policy.limits.clear();
  EXPECT_EQ(r("a", 1, 0), "ERROR invalid_argument");
  use({per(2, 60s)});
  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(r("a", 2, 0), "NOW");
}

TEST_P(BookingIdentity, ALimitOfZeroReleasesNobody) {
  use({per(0, 60s)});
  EXPECT_EQ(r("a", 1, 0), "IMPOSSIBLE");
  EXPECT_EQ(pending(), 0);
}

TEST_P(BookingIdentity, ALimitLoweredBelowTheCostIsImpossibleAtTheGate) {
  EXPECT_EQ(r("a", 2, 0), "NOW");
  EXPECT_EQ(r("b", 2, 0), "AT 60000");
  use({per(1, 60s)});
  EXPECT_EQ(g("b", 0, 60000), "IMPOSSIBLE");
  EXPECT_EQ(pending(), 0);
  EXPECT_EQ(r("c", 1, 60000), "NOW");
}

}  // namespace
}  // namespace dripgate::testing
