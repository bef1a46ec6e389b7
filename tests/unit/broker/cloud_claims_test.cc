// What is too large for a task: where it lies, how it comes back, and what happens when it is gone.
#include <gtest/gtest.h>

#include "broker/cloud_tasks/tasks_timer.h"
#include "support/fake_claims.h"
#include "support/sim_tasks.h"

namespace dripgate::broker::cloud_tasks {
namespace {

using testing::ClaimShelf;
using testing::FakeClaims;
using testing::kT0;
using testing::SimTasks;

const std::string kEntryId = std::string(32, 'a') + "-g3";
const std::string kLarge(kTaskBytesDefault + 1, 'x');

class CloudClaims : public ::testing::Test {
 protected:
  static Options options() {
    return {.project = "acme",
            .location = "asia-south1",
            .queues = {"payouts"},
            .target = "https://dispatch.example.com/v1/dispatch/payouts",
            .service_account = "tasks@acme.iam.gserviceaccount.com",
            .audience = "https://dispatch.example.com"};
  }
  void open(bool with_claims = true) {
    std::unique_ptr<Claims> claims;
    if (with_claims) claims = std::make_unique<FakeClaims>(shelf, executor, clock);
    timer = std::make_unique<TasksTimer>(options(), tasks, executor, clock, std::move(claims));
    tasks.connect(timer.get());
    timer->start([this](FiredEntry entry) { fired.push_back(std::move(entry)); });
  }
  Result<void> schedule(const std::string& body, const std::string& id = kEntryId,
                        WallTime due = kT0 + 1min) {
    Result<void> answer = fail(ErrorCode::timed_out, "no answer");
    timer->schedule({.id = id,
                     .due = due,
                     .message = {.id = {}, .body = body, .attributes = {{"Note", "n"}}, .published = {}}},
                    [&](Result<void> got) { answer = std::move(got); });
    executor.run_ready();
    return answer;
  }
  [[nodiscard]] std::size_t kept() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(shelf.claims, [&](const auto& claim) { return !claim.second.ends; }));
  }
  [[nodiscard]] const std::string* lost(std::size_t index = 0) const {
    return find(fired.at(index).entry.message.attributes, kClaimLostAttribute);
  }

  testing::VirtualClock clock;
  testing::SimExecutor executor{clock};
  SimTasks tasks{executor, clock};
  ClaimShelf shelf;
  std::unique_ptr<TasksTimer> timer;
  std::vector<FiredEntry> fired;
};

TEST_F(CloudClaims, WhatFitsTravelsInItsTaskAndWhatDoesNotIsClaimed) {
  open();
  ASSERT_TRUE(schedule(std::string(kTaskBytesDefault - 2'000, 'x')));
  EXPECT_EQ(kept(), 0u);
  ASSERT_TRUE(schedule(std::string(kTaskBytesDefault - 10, 'x'), "edge")) << "no room for the headers";
  ASSERT_TRUE(schedule(kLarge, "large"));
  EXPECT_EQ(kept(), 2u);
  executor.run_for(1min);
  ASSERT_EQ(fired.size(), 3u);
  EXPECT_EQ(fired[2].entry.message.body, kLarge);
  EXPECT_EQ(fired[2].entry.message.attributes, (Attributes{{"Note", "n"}})) << "no trace of the way";
}

TEST_F(CloudClaims, WithoutAClaimCheckTheEventIsTooLarge) {
  open(false);
  const auto refused = schedule(kLarge);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::too_large);
}

TEST_F(CloudClaims, TheBytesAreThereBeforeTheTaskIs) {
  open();
  tasks.refuse = [&](const Task&) -> std::optional<CallStatus> {
    EXPECT_EQ(kept(), 1u);
    return {};
  };
  ASSERT_TRUE(schedule(kLarge));
  shelf.refuse = [] { return Error{ErrorCode::unavailable, true, "away"}; };
  const auto refused = schedule(kLarge, "other");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().transient);
  EXPECT_EQ(tasks.creates, 1u) << "no task without its bytes";
}

TEST_F(CloudClaims, AreLetGoOnceTheEntryIsHandledAndNotBefore) {
  open();
  ASSERT_TRUE(schedule(kLarge));
  executor.run_for(1min);
  ASSERT_EQ(fired.size(), 1u);
  timer->lapse(fired[0].token);
  EXPECT_EQ(kept(), 1u);
  executor.run_for(1s);
  ASSERT_EQ(fired.size(), 2u);
  EXPECT_EQ(fired[1].entry.message.body, kLarge);
  timer->settle(fired[1].token, [](Result<void>) {});
  executor.run_ready();
  EXPECT_EQ(kept(), 0u);
  EXPECT_TRUE(tasks.tasks.empty());
}

TEST_F(CloudClaims, OfAnEventInHandAreAMoveAndNeedNoNewRoom) {
  open();
  const std::string event(32, 'a');
  ASSERT_TRUE(schedule(kLarge, event + "-g0"));
  EXPECT_EQ(shelf.last, ClaimOf::new_event);
  executor.run_for(1min);
  ASSERT_EQ(fired.size(), 1u);
  ASSERT_TRUE(schedule(kLarge, std::string(32, 'b') + "-g0", kT0 + 1h));
  EXPECT_EQ(shelf.last, ClaimOf::new_event) << "another event";
  ASSERT_TRUE(schedule(kLarge, event + "-g1", kT0 + 1h));
  EXPECT_EQ(shelf.last, ClaimOf::moved_event);
  timer->settle(fired[0].token, [](Result<void>) {});
  ASSERT_TRUE(schedule(kLarge, event + "-g2", kT0 + 1h));
  EXPECT_EQ(shelf.last, ClaimOf::new_event);
}

// Its answer was lost, and nobody listened for longer than the grace: no letter of an event that has gone on.
TEST_F(CloudClaims, LetGoLongAgoARepeatOfTheTaskIsHandled) {
  open();
  ASSERT_TRUE(schedule(kLarge));
  const Task repeat = tasks.tasks.begin()->second.task;
  executor.run_for(1min);
  timer->settle(fired.at(0).token, [](Result<void>) {});
  executor.run_for(ClaimShelf::kGrace + 1s);
  std::optional<Receipt> receipt;
  std::vector<std::pair<std::string, std::string>> headers = repeat.headers;
  headers.emplace_back("X-CloudTasks-TaskName", repeat.id);
  timer->receive(read_task(headers, repeat.body), [&](Receipt got) { receipt = got; });
  executor.run_ready();
  EXPECT_EQ(receipt, Receipt::handled);
  EXPECT_EQ(fired.size(), 1u);
}

TEST_F(CloudClaims, OfATaskThatIsRefusedForGoodAreLetGo) {
  open();
  ASSERT_TRUE(schedule("small", "first")) << "the queue has taken a task";
  tasks.refuse = [](const Task&) { return CallStatus{kInvalidArgument, "no"}; };
  EXPECT_FALSE(schedule(kLarge));
  EXPECT_EQ(kept(), 0u);
  tasks.refuse = [](const Task&) { return CallStatus{kUnavailable, "who knows"}; };
  EXPECT_FALSE(schedule(kLarge));
  EXPECT_EQ(kept(), 1u) << "the task may be there";
}

TEST_F(CloudClaims, WrittenAgainWithOtherBytesTheTaskThatIsThereKeepsItsOwn) {
  open();
  ASSERT_TRUE(schedule(kLarge + "1"));
  ASSERT_TRUE(schedule(kLarge + "2")) << "ALREADY_EXISTS";
  executor.run_for(1min);
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(fired[0].entry.message.body, kLarge + "1");
}

TEST_F(CloudClaims, LostOrDamagedTheEntryFiresAndSaysSo) {
  open();
  ASSERT_TRUE(schedule(kLarge));
  shelf.claims.clear();
  executor.run_for(1min);
  ASSERT_EQ(fired.size(), 1u);
  ASSERT_NE(lost(), nullptr);
  EXPECT_NE(lost()->find("is not there"), std::string::npos) << *lost();
  EXPECT_TRUE(fired[0].entry.message.body.empty());
  ASSERT_TRUE(schedule(kLarge, "damaged", kT0 + 2min));
  shelf.claims.begin()->second.bytes.back() = 'y';
  executor.run_for(1min);
  ASSERT_NE(lost(1), nullptr);
  EXPECT_NE(lost(1)->find("is damaged"), std::string::npos) << *lost(1);
}

// Out of the config since, or not yet in that of this dispatcher.
TEST_F(CloudClaims, AreFoundWithoutAClaimCheckInTheConfig) {
  open();
  ASSERT_TRUE(schedule(kLarge));
  Options without = options();
  without.claim_check = false;
  timer = std::make_unique<TasksTimer>(without, tasks, executor, clock,
                                       std::make_unique<FakeClaims>(shelf, executor, clock));
  tasks.connect(timer.get());
  timer->start([this](FiredEntry entry) { fired.push_back(std::move(entry)); });
  const auto refused = schedule(kLarge, "other");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::too_large);
  executor.run_for(1min);
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(fired[0].entry.message.body, kLarge);
}

TEST_F(CloudClaims, WithNowhereToLookTheEntryFiresAndSaysSo) {
  open();
  ASSERT_TRUE(schedule(kLarge));
  open(false);
  executor.run_for(1min);
  ASSERT_EQ(fired.size(), 1u);
  ASSERT_NE(lost(), nullptr);
}

TEST_F(CloudClaims, OfAStoreThatIsAwayComeAgainLater) {
  open();
  ASSERT_TRUE(schedule(kLarge));
  shelf.refuse = [] { return Error{ErrorCode::unavailable, true, "away"}; };
  executor.run_for(2min);
  EXPECT_TRUE(fired.empty());
  shelf.refuse = {};
  executor.run_for(5min);
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(fired[0].entry.message.body, kLarge);
}

TEST_F(CloudClaims, WhilePausedNobodyAsksForThemAndTheQueueSlowsDown) {
  open();
  int asked = 0;
  shelf.refuse = [&] {
    ++asked;
    return Error{ErrorCode::unavailable, true, "away"};
  };
  std::vector<Receipt> receipts;
  const auto push = [&] {
    TimerEntry entry{
        .id = kEntryId, .due = kT0, .message = {.id = {}, .body = kLarge, .attributes = {}, .published = {}}};
    (void)check_in(entry);
    timer->receive(std::move(entry), [&](Receipt receipt) { receipts.push_back(receipt); });
  };
  push();
  timer->pause();  // while it is asked for
  executor.run_ready();
  push();
  executor.run_ready();
  EXPECT_EQ(receipts, (std::vector{Receipt::stop, Receipt::stop}));
  EXPECT_EQ(asked, 1);
}

TEST_F(CloudClaims, AreInMemoryAFewAtATimeAndEveryoneGetsHisTurn) {
  open();
  const std::size_t many = 3 * kClaimsInHandMax;
  for (std::size_t i = 0; i < many; ++i) ASSERT_TRUE(schedule(kLarge, "e" + std::to_string(i)));
  executor.run_for(1min);
  ASSERT_EQ(fired.size(), kClaimsInHandMax);
  for (std::size_t i = 0; i < many; ++i) {
    ASSERT_GT(fired.size(), i);
    EXPECT_LE(fired.size() - i, kClaimsInHandMax);
    i % 2 == 0 ? timer->settle(fired[i].token, [](Result<void>) {}) : timer->lapse(fired[i].token);
    executor.run_ready();
  }
}

TEST_F(CloudClaims, AReferenceFromOutsideReadsNobodysBytesAndForgesNoLoss) {
  open();
  ASSERT_TRUE(schedule(kLarge));
  int answers = 0;
  const auto push = [&](Attributes attributes) {
    timer->receive({.id = "forged",
                    .due = kT0,
                    .message = {.id = {}, .body = "b", .attributes = std::move(attributes), .published = {}}},
                   [&](Receipt) { ++answers; });
    executor.run_ready();
  };
  push({{std::string(kClaimLostAttribute), "forged"}});
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(lost(), nullptr);
  push({{"dripgate-claim", shelf.claims.begin()->first}});
  push({{"dripgate-claim", std::string(1 << 16, 'a')}});
  ASSERT_EQ(fired.size(), 3u);
  for (const std::size_t forged : {1, 2}) {
    EXPECT_NE(lost(forged), nullptr);
    EXPECT_TRUE(fired[forged].entry.message.body.empty());
  }
}

}  // namespace
}  // namespace dripgate::broker::cloud_tasks
