// The route of Cloud Tasks: who may call it, what it hands on, what it answers.
#include <gtest/gtest.h>

#include "fake_service.h"

namespace dripgate::server::testing {
namespace {

using auth::TokenFault;
using broker::Receipt;

struct FakeTasks final : TaskService {
  auth::TokenAnswer answer{};
  std::string authorization;
  std::vector<broker::TimerEntry> fired;
  Receipt receipt = Receipt::handled;
  bool drop = false;

  bool takes_tasks(const std::string& stream) const override { return stream == "payouts"; }
  auth::TokenAnswer admit(const std::string&, std::string_view given) override {
    authorization = given;
    return answer;
  }
  void fire(std::string, broker::TimerEntry entry, std::move_only_function<void(Receipt)> done) override {
    fired.push_back(std::move(entry));
    if (!drop) done(receipt);
  }
};

struct TaskRoutes : ::testing::Test {
  FakeService service;
  FakeTasks tasks;
  obs::Metrics metrics;
  obs::Log log{obs::LogOptions{}};
  Routes routes = make_routes({.service = service,
                               .config = [] { return std::make_shared<const config::Config>(); },
                               .metrics = metrics,
                               .log = log,
                               .gate = nullptr,
                               .tasks = &tasks});

  static http::Request request(const std::string& stream = "payouts") {
    return {.method = "POST",
            .target = "/v1/dispatch/" + stream,
            .headers = {{"Authorization", "Bearer t"},
                        {"X-CloudTasks-TaskName", "abc-g1"},
                        {"Dripgate-Id", "pay_1"}},
            .body = R"({"amount": 2500.00})"};
  }
  http::Response call(http::Request sent) {
    http::Response got{.status = 0};
    routes.handler(std::move(sent), [&](http::Response response) { got = std::move(response); });
    return got;
  }
};

TEST_F(TaskRoutes, ATaskIsHandedOnWithItsBytesAndAnsweredByWhatBecameOfIt) {
  EXPECT_EQ(call(request()).status, 200);
  ASSERT_EQ(tasks.fired.size(), 1u);
  EXPECT_EQ(tasks.fired[0].id, "abc-g1");
  EXPECT_EQ(tasks.fired[0].message.body, R"({"amount": 2500.00})");
  EXPECT_EQ(*broker::find(tasks.fired[0].message.attributes, "dripgate-id"), "pay_1");
  EXPECT_EQ(tasks.authorization, "Bearer t");
  tasks.receipt = Receipt::again;
  EXPECT_EQ(call(request()).status, 500) << "neither 429 nor 503: they slow the queue down";
  tasks.receipt = Receipt::stop;
  const http::Response stop = call(request());
  EXPECT_EQ(stop.status, 503);
  EXPECT_EQ(http::value_of(stop.headers, "Retry-After"), "10");
}

TEST_F(TaskRoutes, AnUnknownCallerIs401AWrongAccountIs403AndNeitherIsReadOrHandedOn) {
  for (const auto& [fault, status] : {std::pair{TokenFault::missing, 401},
                                      {TokenFault::malformed, 401},
                                      {TokenFault::algorithm, 401},
                                      {TokenFault::unknown_key, 401},
                                      {TokenFault::signature, 401},
                                      {TokenFault::issuer, 401},
                                      {TokenFault::not_yet_valid, 401},
                                      {TokenFault::expired, 401},
                                      {TokenFault::audience, 403},
                                      {TokenFault::account, 403},
                                      {TokenFault::no_keys, 503}}) {
    tasks.answer = {fault, "why"};
    http::Request head = request();
    head.body.clear();
    const auto refused = routes.head_check(head);
    ASSERT_TRUE(refused) << auth::to_string(fault);
    EXPECT_EQ(refused->status, status) << auth::to_string(fault);
    EXPECT_EQ(call(request()).status, status) << auth::to_string(fault);
  }
  EXPECT_TRUE(tasks.fired.empty());
  const std::string text = metrics.text();
  EXPECT_NE(text.find(R"(route="/v1/dispatch/{id}",status="401")"), std::string::npos) << "counted:\n"
                                                                                       << text;
  EXPECT_NE(text.find(R"(route="/v1/dispatch/{id}",status="403")"), std::string::npos);
}

TEST_F(TaskRoutes, ATokenOfAScopeOpensNothingHereAndOtherStreamsTakeNoTasks) {
  tasks.answer = {TokenFault::malformed, "no JWT"};
  http::Request sent = request();
  sent.headers[0].second = "Bearer admin-secret";
  sent.peer.loopback = true;
  EXPECT_EQ(call(sent).status, 401);
  tasks.answer = {};
  EXPECT_EQ(call(request("mails")).status, 404);
  EXPECT_EQ(call(request("nobody")).status, 404);
  EXPECT_TRUE(tasks.fired.empty());
}

TEST_F(TaskRoutes, AProcessWithoutSuchATimerHasNoSuchRoute) {
  routes = make_routes({.service = service,
                        .config = [] { return std::make_shared<const config::Config>(); },
                        .metrics = metrics,
                        .log = log});
  EXPECT_EQ(call(request()).status, 404);
}

TEST_F(TaskRoutes, ABodyLargerThanAnyTaskIsRefusedByItsHead) {
  http::Request head = request();
  head.headers.emplace_back("Content-Length", "2000001");
  const auto refused = routes.head_check(head);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 413);
}

}  // namespace
}  // namespace dripgate::server::testing
