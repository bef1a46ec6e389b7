// The rules of one event's record and one key's state: repeats, leases, retries, an emptied store, freezes,
// and what a person sees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/virtual_time.h"
#include "unit/core/booking_timeline.h"

namespace dripgate::testing {
namespace {

using core::EventState;
using core::PlanRule;
using core::ReserveInput;
using core::ReserveOutcome;
using core::Spread;
using namespace std::chrono_literals;

class BookingRecord : public ::testing::Test {
 protected:
  std::string r(const std::string& id, WallTime now, ReserveInput input = {}) {
    last = drip.reserve(id, input, now);
    return text(last);
  }
  std::string g(const std::string& id, std::uint32_t generation, WallTime now) {
    return text(drip.gate(id, generation, now));
  }
  std::string at(Duration offset) const { return "AT " + ms_text(kT0 + offset); }
  std::string rebook(Duration offset) const { return "REBOOK " + ms_text(kT0 + offset); }
  core::EventRecord& record(const std::string& id) { return *drip.records.at(id); }
  core::Units released() const { return core::inspect(drip.state, drip.policy, kLongAgo).released[0]; }

  Drip drip{{window_limit(2, 60s)}, Spread::start, PlanRule{}};
  core::ReserveAnswer last;
};

TEST_F(BookingRecord, ABookedEventKeepsItsSlotHoweverOftenItIsAskedFor) {
  EXPECT_EQ(r("a", kT0), "NOW");
  EXPECT_EQ(r("b", kT0), "NOW");
  EXPECT_EQ(r("c", kT0), at(60s));
  for (const Duration later : {1s, 30s, 59s, 61s, 500s}) EXPECT_EQ(r("c", kT0 + later), at(60s));
  EXPECT_EQ(last.generation, 0u);
  EXPECT_EQ(drip.state.pending(), 1);
}

TEST_F(BookingRecord, TheSameIdWithAnotherBodyIsAConflictThatChangesNothing) {
  EXPECT_EQ(r("a", kT0, {.body_digest = 1}), "NOW");
  const auto before = record("a");
  EXPECT_EQ(r("a", kT0 + 1s, {.body_digest = 2}), "CONFLICT");
  EXPECT_EQ(r("a", kT0 + 1s, {.body_digest = 2, .after_generation = 0}), "CONFLICT");
  EXPECT_EQ(record("a"), before);
  EXPECT_EQ(released(), 1);
}

TEST_F(BookingRecord, AReleaseIsValidToTheEndOfItsWindowAndItsLease) {
  EXPECT_EQ(r("a", kT0 + 10s), "NOW");
  EXPECT_EQ(last.valid_until, kT0 + 60s);
  drip.policy.limits = {window_limit(2, 1h), window_limit(100, 24h)};
  EXPECT_EQ(r("b", kT0 + 10s), "NOW");
  EXPECT_EQ(last.valid_until, kT0 + 10s + kReleaseLease);
  drip.policy.limits = {log_limit(5, 1s)};
  EXPECT_EQ(r("c", kT0 + 10s), "NOW");
  EXPECT_EQ(last.valid_until, kT0 + 10s + kReleaseLease);
}

TEST_F(BookingRecord, AReleaseIsRepeatedUnchargedInsideItsWindow) {
  EXPECT_EQ(r("a", kT0 + 10s), "NOW");
  EXPECT_EQ(r("a", kT0 + 59s), "NOW");
  EXPECT_EQ(last.slot, kT0 + 10s);
  EXPECT_EQ(last.generation, 0u);
  EXPECT_EQ(last.valid_until, kT0 + 60s);
  EXPECT_EQ(released(), 1);
}

TEST_F(BookingRecord, AReleaseOfAnEarlierWindowIsChargedAgainWhereThereIsRoom) {
  EXPECT_EQ(r("a", kT0 + 10s), "NOW");
  EXPECT_EQ(r("a", kT0 + 60s), "NOW");
  EXPECT_EQ(last.slot, kT0 + 60s);
  EXPECT_EQ(released(), 1) << "of the new window";
  EXPECT_EQ(r("b", kT0 + 60s), "NOW");
  EXPECT_EQ(r("c", kT0 + 60s), at(120s));
}

TEST_F(BookingRecord, AReleaseOfAnEarlierWindowIsBookedWhereThereIsNoRoom) {
  EXPECT_EQ(r("a", kT0 + 10s), "NOW");
  EXPECT_EQ(r("b", kT0 + 61s), "NOW");
  EXPECT_EQ(r("c", kT0 + 61s), "NOW");
  EXPECT_EQ(r("a", kT0 + 62s), at(120s));
  EXPECT_EQ(last.generation, 1u);
  EXPECT_EQ(record("a").state, EventState::booked);
  EXPECT_EQ(drip.state.pending(), 1);
  EXPECT_FALSE(core::settle(record("a"), 0)) << "the release of before is over";
  EXPECT_EQ(g("a", 1, kT0 + 120s), "GO");
  EXPECT_EQ(drip.state.pending(), 0);
}

TEST_F(BookingRecord, WhatIsDoneIsADuplicate) {
  EXPECT_EQ(r("a", kT0), "NOW");
  EXPECT_FALSE(core::settle(record("a"), 1));
  EXPECT_TRUE(core::settle(record("a"), 0));
  EXPECT_FALSE(core::settle(record("a"), 0));
  EXPECT_EQ(r("a", kT0 + 1s), "DUPLICATE");
  EXPECT_EQ(g("a", 0, kT0 + 1h), "DUPLICATE");
  EXPECT_EQ(released(), 0) << "an hour later";
}

TEST_F(BookingRecord, AGateAnswerThatWasNotSettledIsAskedAgainWhenItsLeaseEnds) {
  EXPECT_EQ(r("x", kT0, {.cost = 2}), "NOW");
  EXPECT_EQ(r("a", kT0), at(60s));
  EXPECT_EQ(g("a", 0, kT0 + 60s), "GO");
  EXPECT_EQ(g("a", 0, kT0 + 61s), rebook(60s + kReleaseLease));
  EXPECT_EQ(record("a").state, EventState::released);
  EXPECT_EQ(record("a").generation, 1u);
  EXPECT_EQ(g("a", 0, kT0 + 62s), "DUPLICATE");
  EXPECT_EQ(g("a", 1, kT0 + 119s), rebook(60s + kReleaseLease));
  EXPECT_EQ(g("a", 2, kT0 + 120s), "GO") << "charged again";
  EXPECT_EQ(released(), 1);
  EXPECT_EQ(r("b", kT0 + 120s), "NOW");
  EXPECT_EQ(r("c", kT0 + 120s), at(180s));
}

TEST_F(BookingRecord, TheReleaseMaySettleAlthoughALaterTimerWaitsForItsLease) {
  EXPECT_EQ(r("x", kT0, {.cost = 2}), "NOW");
  EXPECT_EQ(r("a", kT0), at(60s));
  EXPECT_EQ(g("a", 0, kT0 + 60s), "GO");
  EXPECT_EQ(g("a", 0, kT0 + 61s), rebook(120s));
  EXPECT_TRUE(core::settle(record("a"), 0));
  EXPECT_EQ(g("a", 1, kT0 + 120s), "DUPLICATE") << "delivered once only";
}

TEST_F(BookingRecord, ALapsedLeaseWithoutRoomIsBookedAgain) {
  EXPECT_EQ(r("x", kT0, {.cost = 2}), "NOW");
  EXPECT_EQ(r("a", kT0), at(60s));
  EXPECT_EQ(g("a", 0, kT0 + 60s), "GO");
  EXPECT_EQ(r("y", kT0 + 120s, {.cost = 2}), "NOW");
  EXPECT_EQ(g("a", 0, kT0 + 121s), rebook(180s));
  EXPECT_EQ(record("a").state, EventState::booked);
  EXPECT_EQ(drip.state.pending(), 1);
  EXPECT_EQ(g("a", 1, kT0 + 180s), "GO");
  EXPECT_EQ(drip.state.pending(), 0);
}

TEST_F(BookingRecord, ARetryBooksAgainAfterTheGenerationThatIsOver) {
  EXPECT_EQ(r("a", kT0 + 1s), "NOW");
  const ReserveInput retry{.after_generation = 0};
  EXPECT_EQ(r("a", kT0 + 2s, retry), "NOW");
  EXPECT_EQ(last.generation, 1u);
  EXPECT_EQ(last.first_received, kT0 + 1s) << "kept";
  EXPECT_EQ(released(), 2) << "an attempt costs";
  EXPECT_EQ(r("a", kT0 + 3s, retry), "NOW") << "the same attempt asked again";
  EXPECT_EQ(last.generation, 1u);
  EXPECT_EQ(released(), 2);
  EXPECT_EQ(r("a", kT0 + 4s, {.after_generation = 1}), at(60s));
  EXPECT_EQ(last.generation, 2u);
  EXPECT_EQ(r("a", kT0 + 5s, {.after_generation = 1}), at(60s));
  EXPECT_EQ(r("a", kT0 + 5s, {.after_generation = 2}), at(60s)) << "booked, so not over";
  EXPECT_EQ(record("a").generation, 2u);
  EXPECT_EQ(drip.state.pending(), 1);
}

TEST_F(BookingRecord, ARetryAfterADeliveredAttemptIsADuplicate) {
  EXPECT_EQ(r("a", kT0), "NOW");
  EXPECT_EQ(r("a", kT0, {.after_generation = 0}), "NOW");
  ASSERT_TRUE(core::settle(record("a"), 1));
  EXPECT_FALSE(core::settle(record("a"), 0));
  EXPECT_EQ(r("a", kT0, {.after_generation = 0}), "DUPLICATE");
}

TEST_F(BookingRecord, ARetryOfAReleaseWhoseLeaseWasWaitedForIsChargedAnew) {
  EXPECT_EQ(r("x", kT0, {.cost = 2}), "NOW");
  EXPECT_EQ(r("a", kT0), at(60s));
  EXPECT_EQ(g("a", 0, kT0 + 60s), "GO");
  EXPECT_EQ(g("a", 0, kT0 + 61s), rebook(120s));
  EXPECT_EQ(r("a", kT0 + 62s, {.after_generation = 0}), "NOW");
  EXPECT_EQ(last.generation, 2u);
  EXPECT_EQ(released(), 2);
  EXPECT_EQ(r("a", kT0 + 63s, {.after_generation = 0}), "NOW") << "the same attempt";
  EXPECT_EQ(released(), 2);
  EXPECT_EQ(g("a", 1, kT0 + 120s), "DUPLICATE");
}

TEST_F(BookingRecord, ARetryWithoutARecordTakesTheNextGeneration) {
  EXPECT_EQ(r("a", kT0, {.first_received = kT0 - 10s, .after_generation = 6}), "NOW");
  EXPECT_EQ(last.generation, 7u);
  EXPECT_EQ(last.first_received, kT0 - 10s);
}

TEST_F(BookingRecord, WhatWasGivenBackIsBookedAfreshWithANewGeneration) {
  EXPECT_EQ(r("x", kT0, {.cost = 2}), "NOW");
  EXPECT_EQ(r("a", kT0), at(60s));
  EXPECT_FALSE(core::release(drip.state, record("a"), drip.policy, 1, kT0)) << "another generation";
  EXPECT_TRUE(core::release(drip.state, record("a"), drip.policy, 0, kT0));
  EXPECT_FALSE(core::release(drip.state, record("a"), drip.policy, 0, kT0));
  EXPECT_EQ(drip.state.pending(), 0);
  EXPECT_EQ(g("a", 0, kT0 + 60s), "DUPLICATE");
  EXPECT_EQ(r("a", kT0 + 60s), "NOW");
  EXPECT_EQ(last.generation, 1u);
}

TEST_F(BookingRecord, AnOldTimerNeverFiresTheNewBooking) {
  EXPECT_EQ(r("x", kT0, {.cost = 2}), "NOW");
  EXPECT_EQ(r("a", kT0), at(60s));
  ASSERT_TRUE(core::release(drip.state, record("a"), drip.policy, 0, kT0));
  EXPECT_EQ(r("a", kT0), at(60s));
  EXPECT_EQ(last.generation, 1u);
  EXPECT_EQ(g("a", 0, kT0 + 60s), "DUPLICATE");
  EXPECT_EQ(g("a", 1, kT0 + 60s), "GO");
}

TEST_F(BookingRecord, AnEventBeyondTheHorizonAtTheGateIsToldAsOftenAsItsTimerFires) {
  drip.policy.max_delay = 60s;
  EXPECT_EQ(r("x", kT0, {.cost = 2}), "NOW");
  EXPECT_EQ(r("a", kT0), at(60s));
  core::freeze(drip.state, kT0 + 90s);
  EXPECT_EQ(g("a", 0, kT0 + 60s), "BEYOND " + ms_text(kT0 + 90s));
  EXPECT_EQ(record("a").state, EventState::dead_letter);
  EXPECT_EQ(drip.state.pending(), 0);
  EXPECT_EQ(g("a", 0, kT0 + 61s), "BEYOND " + ms_text(kT0 + 90s)) << "the first answer may be lost";
  drip.policy.max_delay = 1h;
  EXPECT_EQ(g("a", 0, kT0 + 61s), "BEYOND " + ms_text(kT0 + 90s));
  EXPECT_EQ(r("a", kT0 + 62s), "DUPLICATE");
  EXPECT_EQ(r("a", kT0 + 200s, {.first_received = kT0 + 200s, .after_generation = 0}), "NOW");
  EXPECT_EQ(last.generation, 1u);
  EXPECT_EQ(g("a", 0, kT0 + 201s), "DUPLICATE");
}

TEST_F(BookingRecord, TheHorizonIsInclusiveAtTheGateToo) {
  for (const Duration horizon : {Duration{120s}, 120s - 1us}) {
    drip = Drip({window_limit(2, 60s)}, Spread::start, PlanRule{});
    drip.policy.max_delay = horizon;
    EXPECT_EQ(r("x", kT0, {.cost = 2}), "NOW");
    EXPECT_EQ(r("a", kT0), at(60s));
    EXPECT_EQ(r("b", kT0), at(60s));
    drip.policy.limits = {window_limit(1, 60s)};
    EXPECT_EQ(g("a", 0, kT0 + 60s), "GO");
    EXPECT_EQ(g("b", 0, kT0 + 60s), (horizon == 120s ? "REBOOK " : "BEYOND ") + ms_text(kT0 + 120s));
  }
}

TEST_F(BookingRecord, ALimitBelowTheCostIsImpossibleAtTheGate) {
  EXPECT_EQ(r("x", kT0), "NOW");
  EXPECT_EQ(r("a", kT0, {.cost = 2}), at(60s));
  drip.policy.limits = {window_limit(1, 60s)};
  EXPECT_EQ(g("a", 0, kT0 + 60s), "IMPOSSIBLE");
  drip.policy.limits = {window_limit(2, 60s)};
  EXPECT_EQ(g("a", 0, kT0 + 60s), "IMPOSSIBLE") << "what was told stays, whatever the limits are now";
  EXPECT_EQ(drip.state.pending(), 0);
  EXPECT_EQ(r("n", kT0 + 60s), "NOW");
}

TEST_F(BookingRecord, ACostBelowOneIsRefusedAndChangesNothing) {
  const core::KeyState before = drip.state;
  std::optional<core::EventRecord> none;
  const auto answer = core::reserve(drip.state, none, drip.policy, {.cost = 0}, kT0);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(drip.state, before);
}

TEST_F(BookingRecord, AClockThatStepsBackTooFarIsAnErrorThatChangesNothing) {
  EXPECT_EQ(r("a", kT0), "NOW");
  EXPECT_EQ(r("b", kT0 - kClockClampMax), "NOW");
  EXPECT_EQ(last.now, kT0);
  const core::KeyState before = drip.state;
  std::optional<core::EventRecord> none;
  const WallTime stepped = kT0 - kClockClampMax - Duration{1};
  const auto reserved = core::reserve(drip.state, none, drip.policy, ReserveInput{}, stepped);
  ASSERT_FALSE(reserved.has_value());
  EXPECT_EQ(reserved.error().code, ErrorCode::clock_stepped_back);
  const auto gated = core::gate(drip.state, drip.records["a"], drip.policy, core::GateInput{}, stepped);
  ASSERT_FALSE(gated.has_value());
  EXPECT_EQ(gated.error().code, ErrorCode::clock_stepped_back);
  EXPECT_EQ(drip.state, before);
}

// --- the store was emptied

core::GateInput ticket(WallTime slot, std::uint32_t generation = 3, core::Units cost = 1) {
  return {
      .generation = generation, .slot = slot, .cost = cost, .first_received = kT0 - 1min, .body_digest = 9};
}

TEST_F(BookingRecord, InAnEmptiedStoreTheTicketIsTheReservation) {
  EXPECT_EQ(text(drip.gate("a", ticket(kT0), kT0 + 1s)), "GO");
  EXPECT_EQ(record("a").generation, 3u);
  EXPECT_EQ(record("a").first_received, kT0 - 1min);
  EXPECT_EQ(record("a").body_digest, 9u);
  EXPECT_EQ(text(drip.gate("b", ticket(kT0), kT0 + 1s)), "GO");
  EXPECT_EQ(text(drip.gate("c", ticket(kT0), kT0 + 1s)), rebook(60s));
  EXPECT_EQ(drip.state.pending(), 1);
  EXPECT_EQ(record("c").generation, 4u);
  EXPECT_EQ(text(drip.gate("c", ticket(kT0), kT0 + 2s)), "DUPLICATE") << "an older generation now";
  EXPECT_EQ(text(drip.gate("d", ticket(kT0 + 30s), kT0 + 3s)), rebook(30s)) << "early";
  EXPECT_EQ(drip.state.pending(), 2);
  EXPECT_EQ(g("c", 4, kT0 + 60s), "GO");
  EXPECT_EQ(g("d", 4, kT0 + 60s), "GO");
  EXPECT_EQ(drip.state.pending(), 0);
}

TEST_F(BookingRecord, NewcomersOfAKeyWithUnknownHistoryWaitForOneWindow) {
  EXPECT_EQ(text(drip.gate("a", ticket(kT0), kT0 + 1s)), "GO");
  EXPECT_EQ(r("n", kT0 + 2s), at(60s)) << "one unit is free, but who knows what went before";
  EXPECT_EQ(text(drip.gate("b", ticket(kT0), kT0 + 3s)), "GO");
  EXPECT_EQ(g("n", 0, kT0 + 60s), "GO");
  EXPECT_EQ(r("m", kT0 + 60s), "NOW");
}

TEST(BookingEmptied, ATicketStandsInNoPlanAndTakesNoneBack) {
  Drip drip({window_limit(2, 60s)}, Spread::even, PlanRule{});
  EXPECT_EQ(drip.gate("s", ticket(kT0 + 120s), kT0).slot, kT0 + 120s) << "early";
  for (const auto slot : {90s, 120s, 150s})
    EXPECT_EQ(drip.reserve(std::to_string(slot / 1s), 1, kT0).slot, kT0 + slot) << "behind the one pending";
  EXPECT_EQ(drip.gate("t", ticket(kT0 + 125s), kT0).slot, kT0 + 125s);
  core::freeze(drip.state, kT0 + 130s);
  EXPECT_EQ(text(drip.gate("t", 4, kT0 + 126s)), "REBOOK " + ms_text(kT0 + 130s)) << "room was kept";
  EXPECT_EQ(drip.reserve("n", 1, kT0 + 126s).slot, kT0 + 180s) << "the tail's window is still full";
}

TEST(BookingEmptied, ARecordOfAnEarlierStateTakesNothingOutOfThePlan) {
  Drip drip({window_limit(2, 60s)}, Spread::start, PlanRule{});
  for (const char* id : {"x", "y", "a", "b"}) (void)drip.reserve(id, 1, kT0);
  drip.records["a"]->leak -= 5;  // the same epoch by chance
  ASSERT_TRUE(drip.release("a", kT0));
  EXPECT_EQ(drip.state.pending(), 2) << "it ages out";
  EXPECT_EQ(drip.reserve("c", 1, kT0).slot, kT0 + 120s);
}

TEST(BookingEmptied, TheWaitIsTheLongestWindowOfTheLimits) {
  const auto waits = [](std::vector<core::Limit> limits) {
    Drip drip(std::move(limits), Spread::start, PlanRule{});
    (void)drip.gate("a", ticket(kT0), kT0 + 1s);
    return drip.reserve("n", 1, kT0 + 1s).slot - kT0;
  };
  EXPECT_EQ(waits({window_limit(2, 1s), window_limit(9, 60s)}), 60s);
  EXPECT_EQ(waits({log_limit(5, 60s)}), 61s);
  EXPECT_EQ(waits({bucket_limit(1, 1s, 30)}), 31s);
}

TEST_F(BookingRecord, AKeyThatWasOnlyFrozenHasAnUnknownHistoryToo) {
  core::freeze(drip.state, kT0 + 10s);
  EXPECT_EQ(text(drip.gate("a", ticket(kT0), kT0 + 1s)), rebook(10s));
  EXPECT_EQ(r("n", kT0 + 2s), at(60s));
}

// --- freezes

TEST_F(BookingRecord, AThawedKeyReleasesAtOnce) {
  core::freeze(drip.state, kT0 + 1h);
  EXPECT_EQ(r("a", kT0), at(1h));
  core::thaw(drip.state);
  EXPECT_EQ(r("b", kT0 + 1s), at(1h)) << "behind what is booked";
  ASSERT_TRUE(core::release(drip.state, record("a"), drip.policy, 0, kT0 + 2s));
  ASSERT_TRUE(core::release(drip.state, record("b"), drip.policy, 0, kT0 + 2s));
  EXPECT_EQ(r("c", kT0 + 2s), "NOW");
}

// --- what a person sees

TEST_F(BookingRecord, InspectTellsTheNextSlotAndChangesNothing) {
  const core::KeyView fresh = core::inspect(core::KeyState{}, drip.policy, kT0);
  EXPECT_EQ(fresh.next_slot, kT0);
  EXPECT_EQ(fresh.pending, 0);
  EXPECT_FALSE(fresh.last_slot || fresh.frozen_until);
  EXPECT_EQ(fresh.released, std::vector<core::Units>{0});
  for (const char* id : {"a", "b", "c"}) (void)r(id, kT0);
  const core::KeyState before = drip.state;
  const core::KeyView view = core::inspect(drip.state, drip.policy, kT0 + 1s);
  EXPECT_EQ(drip.state, before);
  EXPECT_EQ(view.now, kT0 + 1s);
  EXPECT_EQ(view.next_slot, kT0 + 60s);
  EXPECT_EQ(view.last_slot, kT0 + 60s);
  EXPECT_EQ(view.pending, 1);
  EXPECT_EQ(view.released, std::vector<core::Units>{2});
  core::freeze(drip.state, kT0 + 5min);
  EXPECT_EQ(core::inspect(drip.state, drip.policy, kT0 + 1s).frozen_until, kT0 + 5min);
  EXPECT_FALSE(core::inspect(drip.state, drip.policy, kT0 + 5min).frozen_until.has_value());
  drip.policy.limits = {window_limit(0, 60s)};
  EXPECT_EQ(core::inspect(drip.state, drip.policy, kT0).next_slot, kNeverEnds);
}

}  // namespace
}  // namespace dripgate::testing
