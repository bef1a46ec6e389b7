// The timer on Cloud Tasks: what a task looks like, what answers mean, what waits and what does not.
#include <gtest/gtest.h>

#include "broker/cloud_tasks/header_text.h"
#include "broker/cloud_tasks/tasks_timer.h"
#include "support/sim_tasks.h"

namespace dripgate::broker::cloud_tasks {
namespace {

using testing::kT0;
using testing::SimTasks;

const std::string kEntryId = std::string(32, 'a') + "-g3";

Options options(std::vector<std::string> queues = {"payouts"}) {
  return {.project = "acme",
          .location = "asia-south1",
          .queues = std::move(queues),
          .target = "https://dispatch.example.com/v1/dispatch/payouts",
          .service_account = "tasks@acme.iam.gserviceaccount.com",
          .audience = "https://dispatch.example.com"};
}

TimerEntry entry(std::string id = kEntryId, WallTime due = kT0 + 1min) {
  return {.id = std::move(id),
          .due = due,
          .message = {.id = {},
                      .body = R"({"amount": 2500.00})",
                      .attributes = {{"dripgate-id", "pay_1"}},
                      .published = {}}};
}

const std::string* header(const Task& task, std::string_view name) {
  for (const auto& [have, value] : task.headers) {
    if (have == name) return &value;
  }
  return nullptr;
}

TEST(CloudTask, IsNamedByTheHashFirstAndTheGenerationAndCarriesTheBytesAsTheyAre) {
  const auto task = make_task(options(), entry(), kT0);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->name(), "projects/acme/locations/asia-south1/queues/payouts/tasks/" + kEntryId);
  EXPECT_EQ(task->body, R"({"amount": 2500.00})");
  EXPECT_EQ(task->due, kT0 + 1min);
  EXPECT_EQ(*header(*task, "Content-Type"), "application/json");
  EXPECT_EQ(*header(*task, "dripgate-id"), "pay_1");
  EXPECT_EQ(task_id("a b/c").size(), 64u) << "any other id is hashed";
  EXPECT_EQ(task_id("a b/c"), task_id("a b/c"));
}

TEST(CloudTask, BringsEveryAttributeBackWhateverItsBytes) {
  TimerEntry before = entry();
  before.message.body = std::string("\0\xff{", 3);
  before.message.attributes = {{"dripgate-id", "caf\xc3\xa9 100%\r\n"},
                               {"Trace Id", "1"},
                               {"trace id", std::string("\0", 1)},
                               {"traceparent", "00-1-2-01"}};
  auto task = make_task(options(), before, kT0);
  ASSERT_TRUE(task);
  EXPECT_EQ(*header(*task, "Content-Type"), "application/octet-stream");
  for (auto& [name, value] : task->headers) {
    EXPECT_EQ(value.find_first_of(std::string_view("\r\n\0 ", 4)), std::string::npos) << name;
    for (char& c : name) c = static_cast<char>(std::toupper(c));  // as proxies may
  }
  task->headers.emplace_back("X-CloudTasks-TaskName", task->id);
  const TimerEntry after = read_task(task->headers, task->body);
  EXPECT_EQ(after.id, before.id);
  EXPECT_EQ(after.message.body, before.message.body);
  EXPECT_EQ(after.message.attributes, before.message.attributes);
}

TEST(CloudTask, OfSomebodyElseBecomesAnEntryThatIsToldFromOthers) {
  const TimerEntry one = read_task({{"Host", "x"}, {"dripgate-id", "%zz"}}, "one");
  EXPECT_TRUE(one.message.attributes.empty());
  EXPECT_NE(one.id, read_task({}, "two").id);
  EXPECT_EQ(from_header_text("a%2"), std::nullopt);
  EXPECT_EQ(from_header_text("a%+1"), std::nullopt);
  EXPECT_EQ(from_header_text(to_header_text("%\x01 ~")), "%\x01 ~");
}

TEST(CloudTask, TooLargeIsToldWithItsSizeAndTheBound) {
  TimerEntry large = entry();
  large.message.body.assign(kTaskBytesDefault - 2'000, 'x');
  EXPECT_TRUE(make_task(options(), large, kT0));
  large.message.body.assign(kTaskBytesDefault, 'x');
  const auto refused = make_task(options(), large, kT0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::too_large);
  EXPECT_NE(refused.error().detail.find("at most 100000"), std::string::npos) << refused.error().detail;
  Options wide = options();
  wide.task_bytes_max = kTaskBytesMax;
  EXPECT_TRUE(make_task(wide, large, kT0));
  TimerEntry heavy = entry();
  heavy.message.attributes.emplace_back("note", std::string(kTaskHeaderBytesMax, 'x'));
  EXPECT_FALSE(make_task(wide, heavy, kT0));
}

TEST(CloudTask, IsNeverScheduledFurtherAheadThanTheServiceTakes) {
  const auto task = make_task(options(), entry(kEntryId, kT0 + std::chrono::hours{24 * 40}), kT0);
  EXPECT_EQ(task->due, kT0 + std::chrono::hours{24 * 30} - 10min);
}

TEST(CloudTask, AnswersMeanWhatTheServiceSays) {
  for (const int code : {kOk, kAlreadyExists})
    EXPECT_EQ(outcome_of({code, ""}, false), Outcome::persisted) << code;
  for (const int code : {kUnavailable, kDeadlineExceeded, kAborted, kInternal, kUnknown, kCancelled}) {
    EXPECT_EQ(outcome_of({code, ""}, true), Outcome::unknown) << code;
    EXPECT_TRUE(error_of(Outcome::unknown, {code, ""}, "q").transient);
  }
  EXPECT_EQ(outcome_of({kResourceExhausted, ""}, true), Outcome::exhausted);
  for (const int code : {kNotFound, kPermissionDenied, kUnauthenticated, kFailedPrecondition}) {
    EXPECT_EQ(outcome_of({code, ""}, true), Outcome::wrong_setup) << code;
    EXPECT_EQ(error_of(Outcome::wrong_setup, {code, ""}, "q").code, ErrorCode::unavailable)
        << "no event is dead-lettered for it";
  }
  EXPECT_EQ(outcome_of({kInvalidArgument, ""}, false), Outcome::wrong_setup)
      << "a wrong target or account is not the event's fault";
  EXPECT_EQ(outcome_of({kInvalidArgument, ""}, true), Outcome::refused);
}

struct Site {
  testing::VirtualClock clock;
  testing::SimExecutor executor{clock};
  SimTasks tasks{executor, clock};
  std::unique_ptr<TasksTimer> timer;
  std::vector<FiredEntry> fired;
  std::map<std::string, Result<void>> answers;

  explicit Site(Options o = options())
      : timer(std::make_unique<TasksTimer>(std::move(o), tasks, executor, clock)) {}

  void start() {
    tasks.connect(timer.get());
    timer->start([this](FiredEntry entry) { fired.push_back(std::move(entry)); });
  }
  void schedule(const std::string& id, WallTime due) {
    timer->schedule(entry(id, due), [this, id](Result<void> answer) { answers[id] = std::move(answer); });
    executor.run_ready();
  }
  bool persisted(const std::string& id) { return answers.contains(id) && answers[id].has_value(); }
};

TEST(CloudTasksTimer, FiresAtTheSlotAndIsGoneOnceSettled) {
  Site site;
  site.start();
  site.schedule(kEntryId, kT0 + 1min);
  EXPECT_TRUE(site.persisted(kEntryId));
  site.executor.run_for(1min - 1us);
  EXPECT_TRUE(site.fired.empty());
  site.executor.run_for(1us);
  ASSERT_EQ(site.fired.size(), 1u);
  EXPECT_EQ(site.fired[0].entry.id, kEntryId);
  EXPECT_EQ(site.fired[0].entry.message.body, R"({"amount": 2500.00})");
  EXPECT_EQ(site.tasks.tasks.size(), 1u) << "kept until it is answered";
  site.timer->settle(site.fired[0].token, [](Result<void>) {});
  EXPECT_TRUE(site.tasks.tasks.empty());
}

TEST(CloudTasksTimer, WritingAnEntryAgainIsWritingItOnceEvenAfterItHasFired) {
  Site site;
  site.start();
  site.schedule(kEntryId, kT0);
  site.executor.run_ready();
  site.timer->settle(site.fired.at(0).token, [](Result<void>) {});
  site.answers.clear();
  site.schedule(kEntryId, kT0);
  EXPECT_TRUE(site.persisted(kEntryId)) << "ALREADY_EXISTS is a yes";
  site.executor.run_for(1h);
  EXPECT_EQ(site.fired.size(), 1u);
}

TEST(CloudTasksTimer, ALostReplyIsAnUnknownOutcomeAndTheSameNameAgainIsAYes) {
  Site site;
  bool lose = true;
  site.tasks.lose_reply = [&](const auto&) { return std::exchange(lose, false); };
  site.schedule(kEntryId, kT0 + 1h);
  EXPECT_TRUE(site.answers.empty());
  site.executor.run_for(kCallDeadline);
  ASSERT_TRUE(site.answers.contains(kEntryId));
  EXPECT_EQ(site.answers[kEntryId].error().code, ErrorCode::timed_out);
  site.schedule(kEntryId, kT0 + 1h);
  EXPECT_TRUE(site.persisted(kEntryId));
  EXPECT_EQ(site.tasks.tasks.size(), 1u);
}

TEST(CloudTasksTimer, ALapseBringsThisTaskAgainAndAStopSlowsTheQueue) {
  Site site;
  site.start();
  site.schedule(kEntryId, kT0);
  site.executor.run_ready();
  site.timer->lapse(site.fired.at(0).token);
  EXPECT_EQ(site.tasks.slowed, 0) << "one event is no reason to slow the queue";
  site.executor.run_for(SimTasks::kRetryMin);
  ASSERT_EQ(site.fired.size(), 2u);
  site.timer->pause();
  site.timer->lapse(site.fired[1].token);
  EXPECT_EQ(site.tasks.slowed, 1);
  site.executor.run_for(SimTasks::kSlowDown * 2);
  EXPECT_EQ(site.fired.size(), 2u) << "refused while paused";
  site.timer->resume();
  site.executor.run_for(SimTasks::kSlowDown * 2);
  EXPECT_EQ(site.fired.size(), 3u);
}

TEST(CloudTasksTimer, EntriesAreSpreadOverAllQueuesAndAlwaysTheSameWay) {
  Site site(options({"q0", "q1", "q2", "q3"}));
  std::map<std::string, int> by_queue;
  for (int i = 0; i < 400; ++i) site.schedule("event " + std::to_string(i), kT0 + 1h);
  for (const auto& [name, stored] : site.tasks.tasks) ++by_queue[stored.task.queue];
  ASSERT_EQ(by_queue.size(), 4u);
  for (const auto& [queue, count] : by_queue) EXPECT_GT(count, 60) << queue;
  for (int i = 0; i < 400; ++i) site.schedule("event " + std::to_string(i), kT0 + 1h);
  EXPECT_EQ(site.tasks.tasks.size(), 400u);
}

TEST(CloudTasksTimer, AQuotaOfOneQueueLosesNothingAndHoldsUpNoOtherQueue) {
  Site site(options({"q0", "q1"}));
  const std::string full = queue_name(options({"q0", "q1"}), 0);
  const WallTime until = kT0 + 20s;
  int refused = 0;
  site.tasks.refuse = [&](const Task& task) -> std::optional<CallStatus> {
    if (task.queue != full || site.clock.now() >= until) return std::nullopt;
    ++refused;
    return CallStatus{kResourceExhausted, "quota"};
  };
  int other = 0;
  for (int i = 0; i < 400; ++i) {
    const std::string id = "event " + std::to_string(i);
    site.schedule(id, kT0 + 1h);
    if (queue_of(id, 2) == 1) {
      ++other;
      EXPECT_TRUE(site.persisted(id)) << "the other queue goes on";
    }
  }
  EXPECT_EQ(site.answers.size(), static_cast<std::size_t>(other)) << "the rest waits and is not refused";
  site.executor.run_for(40s);
  for (const auto& [id, answer] : site.answers) EXPECT_TRUE(answer.has_value()) << id;
  EXPECT_EQ(site.tasks.tasks.size(), 400u);
  EXPECT_LT(refused, 100) << "a quota is asked less often the longer it lasts";
}

TEST(CloudTasksTimer, AQuotaThatLastsGivesTheEventBackAndRefusesNone) {
  Site site;
  site.tasks.refuse = [](const Task&) { return CallStatus{kResourceExhausted, "quota"}; };
  site.schedule(kEntryId, kT0 + 1h);
  site.executor.run_for(kQuotaPatience + kRestMax);
  ASSERT_TRUE(site.answers.contains(kEntryId));
  EXPECT_TRUE(site.answers[kEntryId].error().transient);
  bool reachable = true;
  site.timer->stats([&](const Result<TimerStats>& stats) { reachable = stats.has_value(); });
  EXPECT_FALSE(reachable) << "the brake asks until the queue is back";
  site.tasks.refuse = nullptr;
  site.timer->stats([&](const Result<TimerStats>& stats) { reachable = stats.has_value(); });
  EXPECT_TRUE(reachable);
}

TEST(CloudTasksTimer, AKilledDispatcherGetsItsTasksAgain) {
  Site site;
  site.start();
  site.schedule(kEntryId, kT0);
  site.executor.run_ready();
  ASSERT_EQ(site.fired.size(), 1u);
  site.tasks.connect(nullptr);
  site.timer = std::make_unique<TasksTimer>(options(), site.tasks, site.executor, site.clock);
  site.executor.run_for(1s);
  site.start();
  site.executor.run_for(10s);
  EXPECT_EQ(site.fired.size(), 2u);
}

}  // namespace
}  // namespace dripgate::broker::cloud_tasks
