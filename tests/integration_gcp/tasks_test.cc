// A stream whose timer is Cloud Tasks, end to end: the real binary's parts, a real Redis, the fake over gRPC
// and HTTP.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "integration_gcp/tasks_site.h"
#include "runtime/real_clock.h"

namespace dripgate::integration {
namespace {

std::string payout(int number) {
  return R"({"payoutId": "pay_)" + std::to_string(number) +
         R"(", "merchant_id":"8421",  "amount": 2500.00, "currency": "INR"})";
}

std::string payouts(int from, int count) {
  std::string lines;
  for (int i = from; i < from + count; ++i) lines += payout(i) + "\n";
  return lines;
}

TEST_F(TasksSite, ABurstWaitsInCloudTasksAndLeavesItWindowByWindow) {
  tasks.deliver(false);
  start();
  ASSERT_EQ(site.publish(payouts(0, 250)).code, 0) << site.up_log();
  ASSERT_TRUE(eventually([&] { return tasks.counts().waiting >= 50; })) << log();
  // The body, field by field, and every byte of the original.
  const testing::FakeTask task = tasks.tasks().begin()->second;
  const auto body = nlohmann::json::parse(task.body);
  const auto& meta = body.at("rateLimitMeta");
  EXPECT_EQ(body.at("isRatelimited"), true);
  EXPECT_EQ(meta.at("key"), "merchant_8421:payout");
  EXPECT_EQ(meta.at("windowType"), "100/5s");
  EXPECT_EQ(meta.at("limit"), kLimit);
  EXPECT_EQ(meta.at("overflowTopic"), "payouts-overflow");
  EXPECT_EQ(meta.at("scheduledFor"), format_rfc3339(task.due));
  const std::string id = body.at("originalPayload").at("payoutId");
  EXPECT_NE(task.body.find("\"originalPayload\":" + payout(std::stoi(id.substr(4)))), std::string::npos)
      << task.body;
  EXPECT_EQ(task.url, dispatcher_url() + "/v1/dispatch/payouts");
  EXPECT_EQ(task.audience, kAudience);
  EXPECT_EQ(task.service_account, kAccount);

  tasks.deliver(true);
  EXPECT_TRUE(delivered(250)) << site.confirmed_ids().size() << log();
  EXPECT_LE(fullest_window(), kLimit);
  EXPECT_EQ(site.sink_lines().size(), 250u) << "each once";
  ASSERT_TRUE(eventually([&] { return tasks.counts().waiting == 0; }));
  const testing::TasksCounts counts = tasks.counts();
  EXPECT_EQ(counts.answers.size(), 1u) << "nothing but 200";
  EXPECT_TRUE(counts.answers.contains(kOk));
  EXPECT_NE(letters().find("0 of 0"), std::string::npos) << letters();
}

TEST_F(TasksSite, TroubleOfEveryKindDeliversEachEventOnceAndSlowsNoQueue) {
  std::mt19937 random(7);
  const auto chance = [&random](int percent) { return static_cast<int>(random() % 100) < percent; };
  tasks.set({.create =
                 [=](const testing::FakeTask&) mutable {
                   testing::CreateFault fault{.slow = std::chrono::milliseconds{chance(10) ? 300 : 0}};
                   fault.lose_reply = chance(10);
                   if (chance(10)) fault.code = 14;
                   if (chance(10)) fault.code = 8;
                   return fault;
                 },
             .late =
                 [=](const testing::FakeTask&) mutable {
                   return Duration{std::chrono::milliseconds{static_cast<int>(random() % 2000) - 1000}};
                 },
             .twice = [=](const testing::FakeTask&) mutable { return chance(20); }});
  start();
  ASSERT_EQ(site.publish(payouts(0, 200)).code, 0) << site.up_log();
  EXPECT_TRUE(delivered(200)) << site.confirmed_ids().size() << log();
  EXPECT_LE(fullest_window(), kLimit);
  EXPECT_EQ(site.sink_lines().size(), 200u) << "duplicates end at the gate";
  const testing::TasksCounts counts = tasks.counts();
  EXPECT_EQ(counts.answers.size(), 1u) << "nothing but 200";
  EXPECT_GT(counts.existed, 0) << "a lost reply is asked for again under the same name";
  EXPECT_NE(letters().find("0 of 0"), std::string::npos) << letters();
}

TEST_F(TasksSite, WhileCloudTasksIsAwayNothingIsAckedAndAllIsDeliveredAfter) {
  tasks.go_down(true);
  start();
  ASSERT_EQ(site.publish(payouts(0, 220)).code, 0) << site.up_log();
  ASSERT_TRUE(delivered(kLimit)) << "what is in the limit needs no timer";
  ASSERT_TRUE(eventually([&] { return log().find("timer") != std::string::npos; })) << log();
  EXPECT_EQ(tasks.counts().waiting, 0u);
  tasks.go_down(false);
  EXPECT_TRUE(delivered(220)) << site.confirmed_ids().size() << log();
  EXPECT_LE(fullest_window(), kLimit);
  EXPECT_NE(letters().find("0 of 0"), std::string::npos) << letters();
}

TEST_F(TasksSite, AnEventTooLargeForATaskIsALetterThatSaysSo) {
  start();
  ASSERT_EQ(site.publish(payouts(0, kLimit)).code, 0);
  const std::string large =
      R"({"payoutId":"large","merchant_id":"8421","note":")" + std::string(101'000, 'x') + "\"}\n";
  (void)site.publish(large);
  ASSERT_TRUE(eventually([&] { return letters().find("too_large") != std::string::npos; })) << letters();
  EXPECT_TRUE(delivered(kLimit));
}

TEST_F(TasksSite, TheDispatcherLetsInNobodyElse) {
  start();
  const auto call = [&](const std::string& authorization, const std::string& stream = "payouts") {
    http::Call post{.target = "/v1/dispatch/" + stream, .body = "{}"};
    if (!authorization.empty()) post.headers.emplace_back("Authorization", authorization);
    return ask_dispatcher(std::move(post));
  };
  const testing::TokenClaims good{.issuer = tasks.issuer(),
                                  .audience = kAudience,
                                  .email = kAccount,
                                  .issued = runtime::RealClock{}.now()};
  const auto with = [&](auto change) {
    testing::TokenClaims claims = good;
    change(claims);
    return "Bearer " + tasks.token(claims);
  };
  EXPECT_EQ(call("Bearer " + tasks.token(good)), kOk)
      << "a body that is no event: a dead letter, not a retry";
  EXPECT_NE(letters().find("poison"), std::string::npos) << letters();
  EXPECT_EQ(call(""), 401);
  EXPECT_EQ(call("Bearer x"), 401);
  EXPECT_EQ(call("Bearer " + testing::TokenSigner("fake-key-1").sign(good)), 401) << "another's key";
  EXPECT_EQ(call(with([](auto& c) { c.issuer = "https://accounts.google.com"; })), 401);
  EXPECT_EQ(call(with([](auto& c) { c.issued -= std::chrono::hours{2}; })), 401);
  EXPECT_EQ(call(with([](auto& c) { c.audience = "https://elsewhere.example.com"; })), 403);
  EXPECT_EQ(call(with([](auto& c) { c.email = "other@acme.iam.gserviceaccount.com"; })), 403);
  EXPECT_EQ(call("Bearer " + tasks.token(good), "nobody"), 404);
}

TEST_F(TasksSite, LoseNothingAndExceedNothingWhateverIsKilled) {
  if (std::getenv("DRIPGATE_LONG") == nullptr)
    GTEST_SKIP()
        << "an event let go right before a kill waits for its release lease, a minute: ./dev soak gcp";
  constexpr int kKills = 10;
  constexpr int kEvents = 260;
  std::mt19937 random(std::random_device{}());
  tasks.set({.create =
                 [](const testing::FakeTask&) {
                   return testing::CreateFault{.slow = std::chrono::milliseconds{20}};
                 },
             .late = {},
             .twice = {}});
  start();
  Process publisher({"publish", "payouts",
                     [&] {
                       write_file(site.folder.path("burst.ndjson"), payouts(0, kEvents));
                       return site.folder.path("burst.ndjson");
                     }(),
                     "--url", site.url(), "--batch", "20", "--json"},
                    site.folder.path("publisher"));
  const std::vector<std::string> verbs{"worker", "dispatch", "consume"};
  for (int i = 0; i < kKills; ++i) {
    let_pass(std::chrono::milliseconds{std::uniform_int_distribution<int>(50, 600)(random)});
    const std::string& verb = verbs[random() % verbs.size()];
    parts[verb]->kill_hard();
    parts[verb] = part(verb);
  }
  ASSERT_EQ(publisher.exit_code(), 0) << publisher.err();
  // An event that was let go right before a kill waits for its release lease (60 s).
  EXPECT_TRUE(delivered(kEvents, std::chrono::milliseconds{240'000})) << site.confirmed_ids().size() << log();
  EXPECT_LE(fullest_window(), kLimit);
  EXPECT_NE(letters().find("0 of 0"), std::string::npos) << letters();
}

}  // namespace
}  // namespace dripgate::integration
