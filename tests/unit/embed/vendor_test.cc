// The library's Vendor through its public headers alone. Limits are wide or windows long, so that no test
// depends on how fast it runs.
#include "dripgate/vendor.h"

#include <future>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "support/scratch_folder.h"

namespace {

using dripgate::Acquired;
using dripgate::ErrorCode;
using dripgate::FailureMode;
using dripgate::Limit;
using dripgate::Observed;
using dripgate::RateLimitExceeded;
using dripgate::Result;
using dripgate::Store;
using dripgate::Vendor;
using dripgate::VendorAnswer;
using dripgate::VendorKey;
using dripgate::VendorOptions;
using dripgate::VendorReply;
using namespace std::chrono_literals;

const VendorKey kPortal{{"portal", "42"}};
using TextOrWait = std::variant<std::string, RateLimitExceeded>;

/// Three at once, and one more a day.
VendorOptions three_at_once() {
  return {.vendor = "crm",
          .limits = {{.limit = Limit::bucket(3, 1, 24h)}},
          .key = "{portal}",
          .on_store_failure = FailureMode::closed};
}

Vendor opened(VendorOptions options) {
  auto vendor = Vendor::open(std::move(options));
  if (!vendor) throw std::runtime_error(vendor.error().detail);
  return *std::move(vendor);
}

VendorReply<std::string> page(int status = 200, dripgate::Headers headers = {}) {
  return {.answer = {.status = status, .headers = std::move(headers)}, .result = "page"};
}

TEST(Vendor, ACallWithinTheLimitGivesItsResultAndTheOneBeyondItsWait) {
  Vendor crm = opened(three_at_once());
  int calls = 0;
  const auto call = [&] { return ++calls, page(); };
  for (int i = 0; i < 3; ++i) {
    const auto done = execute_with_limit(crm, kPortal, call);
    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_EQ(std::get<std::string>(*done), "page");
  }
  const auto denied = execute_with_limit(crm, kPortal, call);
  ASSERT_TRUE(denied);
  const auto& later = std::get<RateLimitExceeded>(*denied);
  EXPECT_GT(later.retry_after, 23h);
  EXPECT_FALSE(later.by_vendor);
  EXPECT_EQ(calls, 3) << "the fourth was not made";
  EXPECT_TRUE(std::holds_alternative<std::string>(*execute_with_limit(crm, {{"portal", "43"}}, call)))
      << "another account";
}

TEST(Vendor, ARefusalOfTheVendorStopsEveryCopyOfTheHandleAndOthersOnTheStore) {
  Vendor crm = opened({.vendor = "crm",
                       .limits = {{.limit = Limit::bucket(100, 100, 1s)}},
                       .on_store_failure = FailureMode::closed});
  const auto refused = execute_with_limit(crm, {}, [] { return page(429, {{"Retry-After", "600"}}); });
  ASSERT_TRUE(refused) << refused.error().detail;
  const auto& later = std::get<RateLimitExceeded>(*refused);
  EXPECT_EQ(later.retry_after, 600s);
  EXPECT_TRUE(later.by_vendor);
  ASSERT_TRUE(later.frozen_until);

  VendorOptions same{.vendor = "crm",
                     .limits = {{.limit = Limit::bucket(100, 100, 1s)}},
                     .on_store_failure = FailureMode::closed,
                     .store = crm.store()};
  Vendor other = opened(std::move(same));
  const auto told = other.acquire({});
  EXPECT_FALSE(told->allowed);
  EXPECT_EQ(told->frozen_until, later.frozen_until);
  EXPECT_EQ(other.inspect({})->refusals_in_a_row, 1);
  EXPECT_FALSE(crm.thaw({})->frozen_until);
  EXPECT_EQ(other.inspect({})->refusals_in_a_row, 0);
}

TEST(Vendor, WhatTheCallHasCostAfterAllIsSettled) {
  Vendor ai = opened({.vendor = "ai",
                      .limits = {{.limit = Limit::bucket(1000, 1, 24h), .dimension = "tokens"}},
                      .on_store_failure = FailureMode::closed});
  const auto call = [] {
    auto reply = page();
    reply.actual = {{"tokens", 300}};
    return reply;
  };
  EXPECT_TRUE(std::holds_alternative<std::string>(*execute_with_limit(ai, {}, call, {{"tokens", 900}})));
  EXPECT_EQ(ai.inspect({})->limits.at(0).remaining, 700);
  const auto impossible = execute_with_limit(ai, {}, call, {{"tokens", 1001}});
  ASSERT_FALSE(impossible);
  EXPECT_EQ(impossible.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(execute_with_limit(ai, {}, call, {{"tokns", 1}}).error().detail,
            "cost: vendor 'ai' has no limit on 'tokns'; accepted: tokens");
}

TEST(Vendor, ACallThatThrowsIsGivenBackAndItsErrorIsItsOwn) {
  Vendor crm =
      opened({.vendor = "crm", .concurrent = 1, .lease = 1h, .on_store_failure = FailureMode::closed});
  const auto broken = []() -> VendorReply<int> { throw std::runtime_error("no route to host"); };
  EXPECT_THROW((void)execute_with_limit(crm, {}, broken), std::runtime_error);
  EXPECT_EQ(crm.inspect({})->in_flight, 0U);
  const auto held = crm.acquire({});
  ASSERT_TRUE(held->allowed);
  EXPECT_EQ(crm.inspect({})->in_flight, 1U);
  const auto busy = execute_with_limit(crm, {}, [] { return page(); });
  EXPECT_GT(std::get<RateLimitExceeded>(*busy).retry_after, 0s);
  EXPECT_EQ(crm.settle({}, held->id)->applied, std::vector<std::string>{"returned"});
  EXPECT_TRUE(std::holds_alternative<std::string>(*execute_with_limit(crm, {}, [] { return page(); })));
}

TEST(Vendor, TheCallbackFormTellsTheSame) {
  Vendor crm = opened(three_at_once());
  std::vector<std::function<void(VendorReply<std::string>)>> calls;
  std::vector<Result<TextOrWait>> answers;
  const auto begin = [&](auto finish) { calls.push_back(std::move(finish)); };
  const auto done = [&](Result<TextOrWait> answer) { answers.push_back(std::move(answer)); };
  execute_with_limit<std::string>(crm, kPortal, begin, done);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_TRUE(answers.empty());
  calls[0](page());
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(std::get<std::string>(*answers[0]), "page");

  execute_with_limit<std::string>(crm, kPortal, begin, done);
  calls.at(1)(page(429, {{"Retry-After", "600"}}));
  EXPECT_EQ(std::get<RateLimitExceeded>(*answers.at(1)).retry_after, 600s);
  execute_with_limit<std::string>(crm, kPortal, begin, done);
  EXPECT_EQ(calls.size(), 2U) << "frozen: the third was not begun";
  EXPECT_FALSE(std::get<RateLimitExceeded>(*answers.at(2)).by_vendor);
  execute_with_limit<std::string>(crm, {}, begin, done);
  EXPECT_EQ(answers.at(3).error().detail, "attributes: the key of vendor 'crm' needs portal");
}

TEST(Vendor, AHandleMayGoWhileItsCallRuns) {
  std::function<void(VendorReply<std::string>)> finish;
  std::optional<Result<TextOrWait>> answer;
  std::optional<Store> store;
  {
    Vendor crm = opened(three_at_once());
    store = crm.store();
    execute_with_limit<std::string>(
        crm, kPortal, [&](auto started) { finish = std::move(started); },
        [&](Result<TextOrWait> told) { answer = std::move(told); });
  }
  ASSERT_TRUE(finish);
  finish(page(429, {{"Retry-After", "600"}}));
  finish = nullptr;
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<RateLimitExceeded>(**answer).retry_after, 600s);
  VendorOptions again = three_at_once();
  again.store = store;
  EXPECT_TRUE(opened(std::move(again)).inspect(kPortal)->frozen_until) << "it was observed";
}

TEST(Vendor, AHandleMayGoBeforeTheAnswerIsObserved) {
  const dripgate::testing::ScratchFolder folder;
  const Store store = *Store::sqlite(folder.path("vendor.db"));
  VendorOptions options = three_at_once();
  options.store = store;
  std::promise<Result<TextOrWait>> answer;
  std::promise<std::function<void(VendorReply<std::string>)>> started;
  std::promise<void> never;  // outlives the handle: the store's thread waits for it, then observes
  {
    Vendor crm = opened(std::move(options));
    execute_with_limit<std::string>(
        crm, kPortal, [&](auto finish) { started.set_value(std::move(finish)); },
        [&](Result<TextOrWait> told) { answer.set_value(std::move(told)); });
    auto finish = started.get_future().get();
    crm.acquire(kPortal, {}, [&](const Result<Acquired>&) { never.get_future().wait_for(200ms); });
    finish(page(503, {{"Retry-After", "600"}}));
  }
  const auto told = answer.get_future().get();
  ASSERT_TRUE(std::holds_alternative<RateLimitExceeded>(*told)) << "the refusal went with the handle";
  EXPECT_EQ(std::get<RateLimitExceeded>(*told).retry_after, 600s);
}

TEST(Vendor, OnAFileTheFreezeOutlivesTheProcess) {
  const dripgate::testing::ScratchFolder folder;
  const std::string path = folder.path("vendor.db");
  const auto options = [&] {
    VendorOptions made = three_at_once();
    made.store = *Store::sqlite(path);
    return made;
  };
  std::optional<dripgate::TimePoint> until;
  {
    Vendor crm = opened(options());
    EXPECT_TRUE(crm.acquire(kPortal)->allowed);
    until =
        crm.observe(kPortal, {.answer = {.status = 429, .headers = {{"Retry-After", "600"}}}})->frozen_until;
    ASSERT_TRUE(until);
  }
  Vendor crm = opened(options());
  EXPECT_EQ(crm.acquire(kPortal)->frozen_until, until);
  EXPECT_GT(*crm.freeze(kPortal, 2h)->frozen_until, *until);
  std::promise<Result<Acquired>> promise;
  crm.acquire(kPortal, {}, [&](Result<Acquired> told) { promise.set_value(std::move(told)); });
  EXPECT_FALSE(promise.get_future().get()->allowed);
}

TEST(Vendor, AnActualCostThatIsWrongKeepsNeitherTheCallInFlightNorTheRefusal) {
  Vendor ai = opened({.vendor = "ai", .concurrent = 1, .lease = 1h, .on_store_failure = FailureMode::closed});
  int status = 200;
  const auto call = [&] {
    auto reply = page(status, {{"Retry-After", "600"}});
    reply.actual = {{"tokns", 300}};
    return reply;
  };
  EXPECT_EQ(std::get<std::string>(*execute_with_limit(ai, {}, call)), "page");
  EXPECT_EQ(ai.inspect({})->in_flight, 0U);
  status = 429;
  EXPECT_EQ(std::get<RateLimitExceeded>(*execute_with_limit(ai, {}, call)).retry_after, 600s);
  EXPECT_TRUE(ai.inspect({})->frozen_until) << "for everybody";
  EXPECT_EQ(ai.inspect({})->in_flight, 0U);
}

TEST(Vendor, AnActualCostThatIsWrongKeepsNothingInTheCallbackFormEither) {
  Vendor ai = opened({.vendor = "ai", .concurrent = 1, .lease = 1h, .on_store_failure = FailureMode::closed});
  std::optional<Result<TextOrWait>> answer;
  const auto begin = [](const auto& finish) {
    auto reply = page(429, {{"Retry-After", "600"}});
    reply.actual = {{"tokns", 300}};
    finish(std::move(reply));
  };
  execute_with_limit<std::string>(ai, {}, begin, [&](Result<TextOrWait> told) { answer = std::move(told); });
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<RateLimitExceeded>(**answer).retry_after, 600s);
  EXPECT_TRUE(ai.inspect({})->frozen_until);
  EXPECT_EQ(ai.inspect({})->in_flight, 0U);
}

TEST(Vendor, CodeIsCheckedAsAFileIs) {
  VendorOptions wrong = three_at_once();
  wrong.profile = "hubspto";
  const auto refused = Vendor::open(std::move(wrong));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().detail.find("did you mean 'hubspot'"), std::string::npos)
      << refused.error().detail;
  wrong = three_at_once();
  wrong.on_store_failure.reset();
  EXPECT_NE(Vendor::open(std::move(wrong)).error().detail.find("onStoreFailure"), std::string::npos);
  EXPECT_EQ(Vendor::open({.vendor = "crm"}).error().code, ErrorCode::invalid_argument)
      << "limited by nothing";
  const auto missing = Vendor::open(
      {.vendor = "crm",
       .config_text = "vendors:\n  - id: other\n    limits: [ { rps: 5 } ]\n    onStoreFailure: open\n"});
  EXPECT_EQ(missing.error().code, ErrorCode::not_found) << missing.error().detail;
}

TEST(Vendor, ALostObservationLosesNoResult) {
  const Result<Observed> lost = dripgate::Error{ErrorCode::unavailable, true, "closed"};
  EXPECT_FALSE(dripgate::refusal_of({.status = 200}, lost));
  const auto refused = dripgate::refusal_of({.status = 429}, lost);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->retry_after, 1s);
}

}  // namespace
