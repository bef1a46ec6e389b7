// The library's Scheduler through its public headers alone. Windows are days, so that no test crosses one but
// once a day, and then it says so.
#include "dripgate/scheduler.h"

#include <gtest/gtest.h>

#include "support/scratch_folder.h"

namespace {

using dripgate::ErrorCode;
using dripgate::GateVerdict;
using dripgate::Limit;
using dripgate::Reservation;
using dripgate::ReserveRequest;
using dripgate::ReserveVerdict;
using dripgate::Scheduler;
using dripgate::SchedulerOptions;
using dripgate::Ticket;
using std::chrono::hours;

/// Two a day of the zone where it is about noon now: no test crosses a day.
SchedulerOptions two_a_day() {
  const auto hour =
      std::chrono::duration_cast<hours>(std::chrono::system_clock::now().time_since_epoch()) % 24;
  const auto shift = 12 - hour.count();  // Etc/GMT-3 is three hours ahead
  const std::string zone = shift == 0 ? "Etc/GMT"
                                      : "Etc/GMT" + std::string(shift > 0 ? "-" : "+") +
                                            std::to_string(shift > 0 ? shift : -shift);
  return {.stream = "payouts", .limits = {Limit::daily(2, zone)}, .horizon = hours{72}};
}

Scheduler opened(SchedulerOptions options) {
  auto scheduler = Scheduler::open(std::move(options));
  if (!scheduler) ADD_FAILURE() << scheduler.error().detail;
  return *std::move(scheduler);
}

Reservation reserve(Scheduler& scheduler, const std::string& id, const std::string& body = "") {
  const auto told = scheduler.reserve({.event_id = id, .key = "m1", .body = body});
  if (!told) ADD_FAILURE() << told.error().detail;
  return *told;
}

TEST(Scheduler, ReleasesWithinTheLimitAndBooksTheRestIntoTheNextWindows) {
  Scheduler scheduler = opened(two_a_day());
  EXPECT_EQ(reserve(scheduler, "a").verdict, ReserveVerdict::now);
  EXPECT_EQ(reserve(scheduler, "b").verdict, ReserveVerdict::now);
  const Reservation third = reserve(scheduler, "c");
  const Reservation fourth = reserve(scheduler, "d");
  const Reservation fifth = reserve(scheduler, "e");
  EXPECT_EQ(third.verdict, ReserveVerdict::at);
  EXPECT_EQ(third.limit.limit, 2);
  EXPECT_EQ(fourth.slot - third.slot, hours{12}) << "spread over the day";
  EXPECT_EQ(fifth.slot - third.slot, hours{24});
  EXPECT_EQ(reserve(scheduler, "c").slot, third.slot) << "a reservation belongs to its event id";
  const auto state = scheduler.inspect("m1");
  EXPECT_EQ(state->pending, 3);
  EXPECT_EQ(state->released, std::vector<std::int64_t>{2});
  EXPECT_EQ(state->last_slot, fifth.slot);
}

TEST(Scheduler, AnswersBeyondTheHorizonAndImpossibleAndSpendsNothing) {
  Scheduler scheduler = opened(two_a_day());
  reserve(scheduler, "a");
  reserve(scheduler, "b");
  const ReserveRequest soon{.event_id = "c", .key = "m1", .horizon = hours{1}};
  EXPECT_EQ(scheduler.reserve(soon)->verdict, ReserveVerdict::beyond_horizon);
  const ReserveRequest large{.event_id = "d", .key = "m1", .cost = 3};
  EXPECT_EQ(scheduler.reserve(large)->verdict, ReserveVerdict::impossible);
  EXPECT_EQ(scheduler.inspect("m1")->pending, 0);
}

TEST(Scheduler, KnowsADuplicateFromAConflict) {
  Scheduler scheduler = opened(two_a_day());
  const Reservation first = reserve(scheduler, "a", "body");
  ASSERT_TRUE(scheduler.done(first.ticket));
  EXPECT_EQ(reserve(scheduler, "a", "body").verdict, ReserveVerdict::duplicate);
  EXPECT_EQ(reserve(scheduler, "a", "another").verdict, ReserveVerdict::conflict);
}

TEST(Scheduler, TheGateRebooksBeforeTheSlotAndAfterAFreeze) {
  Scheduler scheduler = opened(two_a_day());
  reserve(scheduler, "a");
  reserve(scheduler, "b");
  const Reservation booked = reserve(scheduler, "c");
  const auto early = scheduler.gate(booked.ticket);
  ASSERT_TRUE(early);
  EXPECT_EQ(early->verdict, GateVerdict::rebook);
  EXPECT_EQ(early->ticket.slot, booked.slot) << "the same slot again";
  EXPECT_GT(early->ticket.generation, booked.ticket.generation);
  // A kill before the new ticket was kept: the old one is all that the timer has.
  const auto again = scheduler.gate(booked.ticket);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->verdict, GateVerdict::rebook) << "an older generation";
  EXPECT_EQ(again->ticket, early->ticket);
  EXPECT_EQ(scheduler.inspect("m1")->pending, 1) << "booked once";

  const auto until = scheduler.inspect("m1")->now + hours{48};
  ASSERT_TRUE(scheduler.freeze("m1", until));
  EXPECT_EQ(scheduler.inspect("m1")->frozen_until, until);
  ASSERT_TRUE(scheduler.thaw("m1"));
  EXPECT_FALSE(scheduler.inspect("m1")->frozen_until);
}

TEST(Scheduler, LetsABookingGoWhoseStoreWasEmptied) {
  // The ticket stands in for the reservation: its slot is past, and the window has room.
  Scheduler scheduler = opened(two_a_day());
  const auto now = scheduler.inspect("m1")->now;
  const Ticket ticket{.event_id = "x",
                      .key = "m1",
                      .generation = 1,
                      .slot = now - hours{1},
                      .first_received = now - hours{2}};
  const auto fired = scheduler.gate(ticket);
  ASSERT_TRUE(fired);
  EXPECT_EQ(fired->verdict, GateVerdict::go);
  ASSERT_TRUE(scheduler.settle({fired->ticket}));
  EXPECT_EQ(scheduler.gate(ticket)->verdict, GateVerdict::duplicate);
}

TEST(Scheduler, AReleasedSlotGivesItsUnitsBackAndTheIdBooksAgain) {
  Scheduler scheduler = opened(two_a_day());
  reserve(scheduler, "a");
  reserve(scheduler, "b");
  const Reservation booked = reserve(scheduler, "c");
  ASSERT_TRUE(scheduler.release(booked.ticket));
  EXPECT_EQ(scheduler.inspect("m1")->pending, 0);
  const ReserveRequest again{.event_id = "c", .key = "m1", .after_generation = booked.ticket.generation};
  const auto second = scheduler.reserve(again);
  EXPECT_EQ(second->verdict, ReserveVerdict::at);
  EXPECT_EQ(second->slot, booked.slot);
}

TEST(Scheduler, KeepsItsBookingsInAFileBesideALimiter) {
  const dripgate::testing::ScratchFolder folder;
  Reservation booked;
  {
    auto store = dripgate::Store::sqlite(folder.path("bookings.db"));
    ASSERT_TRUE(store) << store.error().detail;
    SchedulerOptions options = two_a_day();
    options.store = *store;
    Scheduler scheduler = opened(std::move(options));
    reserve(scheduler, "a");
    reserve(scheduler, "b");
    booked = reserve(scheduler, "c");
    auto limiter = dripgate::Limiter::open({.policies = {{.id = "p",
                                                          .limits = {Limit::fixed(1, hours{1})},
                                                          .on_store_failure = dripgate::FailureMode::closed}},
                                            .store = scheduler.store()});
    ASSERT_TRUE(limiter) << limiter.error().detail;
    EXPECT_TRUE(limiter->check({})->allowed());
  }
  SchedulerOptions options = two_a_day();
  options.store = *dripgate::Store::sqlite(folder.path("bookings.db"));
  Scheduler scheduler = opened(std::move(options));
  EXPECT_EQ(reserve(scheduler, "c").slot, booked.slot);
  EXPECT_EQ(scheduler.inspect("m1")->pending, 1);
}

TEST(Scheduler, TakesTheLimitsOfAStreamOfAConfig) {
  const std::string config = R"(
store: { memory: {} }
streams:
  - id: payouts
    source: { embedded: payouts }
    key: "{m}"
    limits: [ { rpd: 1 } ]
    maxDelay: 3d
    deliver: { topic: out }
)";
  Scheduler scheduler = opened({.stream = "payouts", .config_text = config});
  EXPECT_EQ(reserve(scheduler, "a").verdict, ReserveVerdict::now);
  EXPECT_EQ(reserve(scheduler, "b").verdict, ReserveVerdict::at);
  EXPECT_EQ(Scheduler::open({.stream = "other", .config_text = config}).error().code, ErrorCode::not_found);
  EXPECT_EQ(Scheduler::open({.stream = "no name"}).error().code, ErrorCode::invalid_argument);
}

TEST(Scheduler, RefusesWhatIsNoEvent) {
  Scheduler scheduler = opened(two_a_day());
  EXPECT_EQ(scheduler.reserve({.event_id = "", .key = "m1"}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(scheduler.reserve({.event_id = "a", .key = ""}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(scheduler.reserve({.event_id = "a", .key = "m1", .cost = 0}).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(scheduler.reserve({.event_id = "a", .key = "m1", .horizon = hours{-1}}).error().code,
            ErrorCode::invalid_argument);
}

TEST(Ticket, ComesBackFromItsTextWhateverItHolds) {
  const Ticket ticket{.event_id = "pay 1%\n\xC3\xA9",
                      .key = "merchant_8421:payout",
                      .generation = 7,
                      .slot = dripgate::TimePoint(dripgate::Span{1'764'000'000'000'001}),
                      .cost = 3,
                      .body_digest = ~std::uint64_t{0},
                      .first_received = dripgate::TimePoint(dripgate::Span{-5}),
                      .horizon = hours{2}};
  const auto read = Ticket::from_text(ticket.to_text());
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, ticket);
  EXPECT_EQ(ticket.to_text().find('\n'), std::string::npos);
  for (const char* text : {"", "t1", "t2 1 1 1 1 1 1 a b", "t1 1 1 1 1 1 1 a", "t1 1 1 1 1 1 1 a b c",
                           "t1 x 1 1 1 1 1 a b", "t1 1 1 1 1 1 1 %zz b", "t1 1 1 1 1 1 1 %4 b"}) {
    EXPECT_FALSE(Ticket::from_text(text)) << text;
  }
}

}  // namespace
