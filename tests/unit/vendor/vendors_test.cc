// The use case over the memory store: keys, costs by dimension, headers into effects, and the failure modes.
#include "vendor/vendors.h"

#include <gtest/gtest.h>

#include "store/memory/stores.h"
#include "support/virtual_time.h"

namespace dripgate::vendor {
namespace {

using namespace std::chrono_literals;
using testing::VirtualClock;

/// The memory store, or an error.
class BreakableStore final : public store::VendorStore {
 public:
  explicit BreakableStore(Clock& clock) : inner_(store::make_memory_vendor_store(clock)) {}
  void acquire(store::VendorAcquire call, Done<core::VendorGrant> done) override {
    ++asked;
    broken ? done(fail(ErrorCode::timed_out, "gone", true))
           : inner_->acquire(std::move(call), std::move(done));
  }
  void observe(store::VendorObserve call, Done<core::VendorEffect> done) override {
    broken ? done(fail(ErrorCode::timed_out, "gone", true))
           : inner_->observe(std::move(call), std::move(done));
  }
  void inspect(std::string key, core::VendorPolicyPtr policy, Done<core::VendorView> done) override {
    inner_->inspect(std::move(key), std::move(policy), std::move(done));
  }
  void reset(std::string key, Done<void> done) override { inner_->reset(std::move(key), std::move(done)); }
  bool broken = false;
  int asked = 0;

 private:
  std::unique_ptr<store::VendorStore> inner_;
};

class VendorsTest : public ::testing::Test, private Observer {
 protected:
  VendorsTest() {
    core::Limit ten{.algorithm = core::Algorithm::token_bucket,
                    .limit = 100,
                    .window = 10s,
                    .capacity = 100,
                    .zone = nullptr};
    core::Limit day{.algorithm = core::Algorithm::fixed_window,
                    .limit = 1000,
                    .window = 24h,
                    .capacity = 1000,
                    .zone = nullptr};
    core::Limit tokens{.algorithm = core::Algorithm::token_bucket,
                       .limit = 1000,
                       .window = 60s,
                       .capacity = 1000,
                       .zone = nullptr};
    auto policy = std::make_shared<core::VendorPolicy>();
    policy->limits = {ten, day, tokens};
    vendor.id = "hubspot";
    vendor.key = core::KeyTemplate::parse("hubspot:{portal}").value();
    vendor.dimensions = {"requests", "requests", "tokens"};
    vendor.profile = "hubspot";
    vendor.policy = policy;
  }
  Result<Acquired> acquire(const std::string& portal = "42", Costs costs = {}) {
    std::optional<Result<Acquired>> answer;
    vendors.acquire({.vendor = "hubspot", .attributes = {{"portal", portal}}, .costs = std::move(costs)},
                    [&](Result<Acquired> got) { answer = std::move(got); });
    return answer.value();
  }
  Result<Observed> observe(VendorAnswer answer, const std::string& id = "", Costs actual = {}) {
    std::optional<Result<Observed>> got;
    vendors.observe({.vendor = "hubspot",
                     .attributes = {{"portal", "42"}},
                     .id = id,
                     .answer = std::move(answer),
                     .sent = {},
                     .actual = std::move(actual)},
                    [&](Result<Observed> seen) { got = std::move(seen); });
    return got.value();
  }
  void on_acquire(const std::string&, std::string_view word) override { words += std::string(word) + " "; }
  void on_observe(const std::string&, const Observed&) override {}

  core::Vendor vendor;
  int instances = 4;
  std::string words;
  VirtualClock clock;
  BreakableStore store{clock};
  std::unique_ptr<store::VendorStore> local = store::make_memory_vendor_store(clock);
  Vendors vendors{{.vendors = [this] { return std::vector{std::make_shared<const core::Vendor>(vendor)}; },
                   .store = store,
                   .local = *local,
                   .instances = [this] { return instances; },
                   .clock = clock,
                   .observer = *this}};
};

TEST_F(VendorsTest, WrongCallsNameWhatIsAccepted) {
  vendors.acquire({.vendor = "hubspto"}, [](const Result<Acquired>& answer) {
    EXPECT_EQ(answer.error().code, ErrorCode::not_found);
    EXPECT_EQ(answer.error().detail, "no vendor 'hubspto'; known: hubspot");
  });
  vendors.acquire({.vendor = "hubspot"}, [](const Result<Acquired>& answer) {
    EXPECT_EQ(answer.error().detail, "attributes: the key of vendor 'hubspot' needs portal");
  });
  EXPECT_EQ(acquire("42", {{"token", 1}}).error().detail,
            "cost: vendor 'hubspot' has no limit on 'token'; accepted: requests, tokens");
  EXPECT_EQ(observe({.status = 200}, "17").error().code, ErrorCode::invalid_argument);
}

TEST_F(VendorsTest, CostsByDimensionAndTheActualOneAfterwards) {
  const auto call = acquire("42", {{"tokens", 900}}).value();
  ASSERT_TRUE(call.allowed);
  EXPECT_EQ(call.remaining, 99) << "least of 99, 999 and 100";
  EXPECT_FALSE(acquire("42", {{"tokens", 200}})->allowed);
  EXPECT_TRUE(acquire("43", {{"tokens", 200}})->allowed) << "another portal";
  EXPECT_EQ(observe({.status = 200}, call.id, {{"tokens", 300}})->applied,
            (std::vector<std::string>{"settled", "returned"}));
  EXPECT_TRUE(acquire("42", {{"tokens", 700}})->allowed);
}

TEST_F(VendorsTest, ARefusalFreezesAndReportsLowerTheLimitTheySpeakOf) {
  const auto call = acquire().value();
  const auto lowered = observe({.status = 200,
                                .headers = {{"X-HubSpot-RateLimit-Max", "100"},
                                            {"X-HubSpot-RateLimit-Remaining", "50"},
                                            {"X-HubSpot-RateLimit-Interval-Milliseconds", "10000"},
                                            {"X-HubSpot-RateLimit-Daily-Remaining", "700"}}},
                               call.id);
  EXPECT_EQ(lowered->applied, (std::vector<std::string>{"lowered", "returned"}));
  EXPECT_EQ(lowered->remaining, 50);
  const auto frozen = observe({.status = 429, .headers = {{"Retry-After", "2"}}});
  EXPECT_EQ(frozen->frozen_until, clock.now() + 2s);
  const auto denied = acquire().value();
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.frozen_until, clock.now() + 2s);
  EXPECT_EQ(words, "allowed frozen ");
}

TEST_F(VendorsTest, AnObservationSaysWhenToAskAgain) {
  const auto in = [&](int status, AnswerHeaders headers, std::string reason = "") {
    return observe({.status = status, .headers = std::move(headers), .reason = std::move(reason)})
        ->retry_after;
  };
  EXPECT_EQ(in(200, {}), 0s);
  EXPECT_EQ(in(500, {{"Retry-After", "7"}}), 0s) << "no limit did it";
  EXPECT_EQ(in(429, {}, "lock_timeout"), core::kPermitWaitMax) << "one object is locked: nothing is frozen";
  EXPECT_EQ(in(429, {{"Retry-After", "2"}}), 2s);
  clock.advance(500ms);
  EXPECT_EQ(in(200, {}), 1500ms) << "a success in flight: the freeze holds";
  EXPECT_EQ(in(429, {{"Retry-After", "1"}}), 1500ms) << "a shorter hint does not shorten it";
  clock.advance(10s);
  store.broken = true;
  vendor.on_store_failure = core::FailureMode::open;
  EXPECT_EQ(in(429, {{"Retry-After", "2"}}), 2s) << "the vendor's own word where nobody keeps it";
  EXPECT_EQ(in(429, {{"Retry-After", "86400"}}), vendor.policy->freeze_cap) << "no longer than a freeze";
  EXPECT_EQ(in(429, {}), kRefusedWait);
}

TEST_F(VendorsTest, CallsOfTheShareRefusedTogetherFreezeForTheFloorInTheStoreToo) {
  vendor.on_store_failure = core::FailureMode::local;
  store.broken = true;
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    const auto call = acquire();
    ASSERT_TRUE(call->allowed) << i;
    ids.push_back(call->id);
    clock.advance(1s);
  }
  store.broken = false;
  clock.advance(10s);
  for (const std::string& id : ids) {
    const auto seen = observe({.status = 429}, id);
    EXPECT_TRUE(seen->refused);
    EXPECT_EQ(seen->frozen_until, clock.now() + vendor.policy->freeze_floor) << "not doubled by each";
    clock.advance(1ms);
  }
}

TEST_F(VendorsTest, AnOperatorFreezesAKeyLongerThanAVendorMayAndThawsIt) {
  const auto operated = [&](auto ask) {
    std::optional<Result<Operated>> got;
    ask([&](Result<Operated> answer) { got = std::move(answer); });
    return got.value();
  };
  const auto freeze = [&](Duration span) {
    return operated([&](auto done) { vendors.freeze("hubspot", {{"portal", "42"}}, span, std::move(done)); });
  };
  auto of_bucket = std::make_shared<core::VendorPolicy>(*vendor.policy);
  of_bucket->limits.resize(1);
  vendor.policy = of_bucket;
  vendor.dimensions.resize(1);
  const WallTime end = clock.now() + 2h;
  EXPECT_EQ(freeze(2h)->frozen_until, end) << "freezeCap is 15 min";
  EXPECT_EQ(freeze(1h)->frozen_until, end) << "the longest wins";
  EXPECT_EQ(freeze(25h).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(freeze(0s).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(acquire()->retry_after, 2h + 100ms) << "and then at the bucket's pace";
  EXPECT_TRUE(acquire("43")->allowed) << "another key";
  clock.advance(1h);
  const auto thawed =
      operated([&](auto done) { vendors.thaw("hubspot", {{"portal", "42"}}, std::move(done)); });
  EXPECT_EQ(thawed->key, "hubspot:hubspot:42");
  EXPECT_FALSE(thawed->frozen_until);
  EXPECT_EQ(acquire()->retry_after, 100ms) << "no volley: the bucket begins empty";
  clock.advance(100ms);
  EXPECT_TRUE(acquire()->allowed);
  EXPECT_EQ(operated([&](auto done) { vendors.thaw("hubspto", {}, std::move(done)); }).error().code,
            ErrorCode::not_found);
}

TEST_F(VendorsTest, H6_AnotherResourceSaysNothingAboutThisKey) {
  vendor.profile = "github";
  const AnswerHeaders search{
      {"X-RateLimit-Resource", "search"}, {"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "40"}};
  EXPECT_TRUE(observe({.status = 200, .headers = search})->applied.empty());
  AnswerHeaders core = search;
  core[0].second = "core";
  EXPECT_EQ(observe({.status = 200, .headers = core})->applied, std::vector<std::string>{"held"});
}

TEST_F(VendorsTest, WhileTheStoreIsAwayTheModeDecides) {
  store.broken = true;
  EXPECT_EQ(acquire().error().code, ErrorCode::unavailable);
  vendor.on_store_failure = core::FailureMode::open;
  const auto open = acquire().value();
  EXPECT_TRUE(open.allowed);
  EXPECT_EQ(open.degraded, core::FailureMode::open);
  EXPECT_TRUE(observe({.status = 200}, open.id));
  vendor.on_store_failure = core::FailureMode::local;
  int allowed = 0;
  std::string id;
  while (true) {
    const auto mine = acquire().value();
    if (!mine.allowed) break;
    EXPECT_EQ(mine.degraded, core::FailureMode::local);
    id = mine.id;
    ++allowed;
  }
  EXPECT_EQ(allowed, 25) << "a quarter of 100";
  EXPECT_TRUE(observe({.status = 429, .headers = {{"Retry-After", "60"}}}, id)->frozen_until);
}

TEST_F(VendorsTest, ABrokenStoreIsNotAskedEachTimeAndIsAskedAgain) {
  vendor.on_store_failure = core::FailureMode::open;
  store.broken = true;
  for (int i = 0; i < 100; ++i) {
    clock.advance(10ms);
    EXPECT_TRUE(acquire());
  }
  EXPECT_LT(store.asked, 60);
  store.broken = false;
  clock.advance(2s);
  EXPECT_TRUE(acquire()->allowed);
  EXPECT_FALSE(acquire()->degraded);
}

}  // namespace
}  // namespace dripgate::vendor
