// What every VendorStore must do: the sentences that a store can get wrong, and random histories that must
// give the answers of the memory store, which is core itself.
#include <random>

#include "conformance/backends.h"
#include "conformance/limits.h"
#include "conformance/redis_backend.h"
#include "support/virtual_time.h"

namespace dripgate::testing {
namespace {

using namespace std::chrono_literals;
using core::VendorEffect;
using core::VendorGrant;
using core::VendorObservation;
using core::VendorPolicy;
using core::VendorVerdict;

/// Asks one store.
class Vendor {
 public:
  Vendor(StoreUnderTest& under, VendorPolicy policy)
      : under_(under), policy_(std::make_shared<const VendorPolicy>(std::move(policy))) {}

  Result<VendorGrant> try_acquire(const std::string& key, core::VendorCosts costs) {
    return ask<VendorGrant>(under_, [&](auto done) {
      under_.vendors().acquire({.key = key, .policy = policy_, .costs = costs}, std::move(done));
    });
  }
  VendorGrant acquire(core::VendorCosts costs = {1}, const std::string& key = "hubspot:42") {
    const auto grant = try_acquire(key, costs);
    EXPECT_TRUE(grant) << grant.error().detail;
    return grant.value_or(VendorGrant{});
  }
  Result<VendorEffect> try_observe(const std::string& key, const VendorObservation& seen) {
    return ask<VendorEffect>(under_, [&](auto done) {
      under_.vendors().observe({.key = key, .policy = policy_, .seen = seen}, std::move(done));
    });
  }
  VendorEffect observe(const VendorObservation& seen, const std::string& key = "hubspot:42") {
    const auto effect = try_observe(key, seen);
    EXPECT_TRUE(effect) << effect.error().detail;
    return effect.value_or(VendorEffect{});
  }
  VendorEffect refuse(Duration freeze) {
    VendorObservation seen;
    seen.verdict = VendorVerdict::refused;
    seen.freeze = freeze;
    return observe(seen);
  }
  core::VendorView inspect(const std::string& key = "hubspot:42") {
    const auto view = ask<core::VendorView>(
        under_, [&](auto done) { under_.vendors().inspect(key, policy_, std::move(done)); });
    EXPECT_TRUE(view) << view.error().detail;
    return view.value_or(core::VendorView{});
  }
  void reset() {
    EXPECT_TRUE(ask<void>(under_, [&](auto done) { under_.vendors().reset("hubspot:42", std::move(done)); }));
  }

 private:
  StoreUnderTest& under_;
  core::VendorPolicyPtr policy_;
};

class VendorConformance : public ::testing::TestWithParam<Backend> {
 protected:
  VirtualClock clock;
  std::unique_ptr<StoreUnderTest> under = GetParam().make(clock);
};

INSTANTIATE_TEST_SUITE_P(Backends, VendorConformance, ::testing::ValuesIn(all_backends()), backend_name);
INSTANTIATE_TEST_SUITE_P(NewClient, VendorConformance, ::testing::Values(redis_reconnecting_backend()),
                         backend_name);

TEST_P(VendorConformance, AnAcquireTakesAllLimitsOrNone) {
  Vendor vendor(*under, {.limits = {bucket(10, 60s, 10), bucket(1000, 60s, 1000)}});
  EXPECT_TRUE(vendor.acquire({1, 900}).allowed);
  const VendorGrant denied = vendor.acquire({1, 200});
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.retry_after, 6s);
  EXPECT_EQ(vendor.inspect().remaining, (std::vector<core::Units>{9, 100}));
  EXPECT_TRUE(vendor.acquire({1, 1001}).impossible);
}

TEST_P(VendorConformance, AFreezeHoldsForAllAndSurvivesWhateverHappensToTheStore) {
  Vendor vendor(*under, {.limits = {bucket(10, 10s, 10)}});
  vendor.acquire();
  EXPECT_TRUE(vendor.refuse(2s).froze);
  clock.advance(500ms);
  EXPECT_FALSE(vendor.refuse(1s).froze) << "a shorter one does not shorten it";
  clock.advance(1500ms - 1us);
  EXPECT_TRUE(vendor.acquire().frozen_until);
  clock.advance(1us);
  const VendorGrant thawed = vendor.acquire();
  EXPECT_FALSE(thawed.frozen_until);
  EXPECT_FALSE(thawed.allowed) << "the bucket is empty then";
  EXPECT_EQ(thawed.retry_after, 2s) << "the start in a second was told to who asked inside the freeze";
  clock.advance(1s);
  EXPECT_TRUE(vendor.acquire().allowed);
}

TEST_P(VendorConformance, AnEarlyThawForgetsNothingThatItsWindowHadUsed) {
  Vendor vendor(*under, {.limits = {per(50, 10s)}});
  clock.advance(10s - Duration{to_us(clock.now()) % 10'000'000});
  EXPECT_TRUE(vendor.acquire({40}).allowed);
  EXPECT_TRUE(vendor.refuse(60s).froze);
  clock.advance(100ms);
  VendorObservation thaw;
  thaw.verdict = VendorVerdict::thaw;
  vendor.observe(thaw);
  EXPECT_EQ(vendor.inspect().remaining, (std::vector<core::Units>{10}));
  clock.advance(9s);
  EXPECT_FALSE(vendor.acquire({11}).allowed);
  EXPECT_TRUE(vendor.acquire({10}).allowed);
}

TEST_P(VendorConformance, EachWhoWaitsIsToldAStartOfHisOwn) {
  Vendor vendor(*under, {.limits = {bucket(1, 1s, 1)}});
  EXPECT_TRUE(vendor.acquire().allowed);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(vendor.acquire().retry_after, i * 1s);
  clock.advance(1s);
  EXPECT_TRUE(vendor.acquire().allowed) << "a hint is no claim";
}

TEST_P(VendorConformance, PermitsOfADeadWorkerComeBackWithTheirLeaseNoSooner) {
  Vendor vendor(*under, {.limits = {bucket(1000, 1s, 1000)}, .concurrent = 5, .lease = 60s});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(vendor.acquire().allowed);
  EXPECT_EQ(vendor.inspect().in_flight, 5U);
  clock.advance(60s - 1us);
  EXPECT_FALSE(vendor.acquire().allowed);
  clock.advance(1us);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(vendor.acquire().allowed) << i;
}

TEST_P(VendorConformance, AnObservationReturnsThePermitSettlesAndLowers) {
  Vendor vendor(*under, {.limits = {bucket(100, 1h, 100), bucket(1000, 1h, 1000)}, .concurrent = 1});
  const VendorGrant call = vendor.acquire({1, 100});
  EXPECT_FALSE(vendor.acquire({1, 1}).allowed);
  VendorObservation seen;
  seen.verdict = VendorVerdict::answered;
  seen.permit = call.permit;
  seen.limits[0].remaining = 40;
  seen.limits[1].actual = 700;
  const VendorEffect effect = vendor.observe(seen);
  EXPECT_TRUE(effect.returned);
  EXPECT_TRUE(effect.settled);
  EXPECT_TRUE(effect.lowered);
  EXPECT_EQ(vendor.inspect().remaining, (std::vector<core::Units>{40, 300}));
  EXPECT_FALSE(vendor.observe(seen).returned) << "once";
  EXPECT_TRUE(vendor.acquire({1, 1}).allowed);
}

TEST_P(VendorConformance, ARowOfRefusalsEndsWithAThawAndAfterTheCapWithoutOne) {
  Vendor vendor(*under, {.limits = {bucket(100, 1s, 100)}, .freeze_floor = 1s, .freeze_cap = 10s});
  VendorObservation thaw;
  thaw.verdict = VendorVerdict::thaw;
  const auto refuse = [&] {
    vendor.refuse(0s);
    clock.advance(2s);
    EXPECT_TRUE(vendor.acquire().allowed);
    EXPECT_FALSE(vendor.acquire().allowed) << "one call tries the vendor";
  };
  refuse();
  vendor.observe(thaw);
  EXPECT_EQ(vendor.inspect().strikes, 0);
  EXPECT_TRUE(vendor.acquire().allowed);
  refuse();
  clock.advance(9s - 1us);
  EXPECT_EQ(vendor.inspect().strikes, 1);
  EXPECT_TRUE(vendor.acquire().allowed);
  clock.advance(1us);
  EXPECT_EQ(vendor.inspect().strikes, 0);
  EXPECT_TRUE(vendor.acquire().allowed);
  EXPECT_TRUE(vendor.acquire().allowed);
}

TEST_P(VendorConformance, CallsRefusedTogetherFreezeForTheFloorAndTheNextOneForLong) {
  Vendor vendor(*under, {.limits = {bucket(100, 1s, 100)}});
  VendorObservation seen;
  seen.verdict = VendorVerdict::refused;
  std::vector<core::PermitId> calls;
  for (int i = 0; i < 5; ++i) calls.push_back(vendor.acquire().permit);
  for (const core::PermitId& call : calls) {
    seen.permit = call;
    clock.advance(1ms);
    const VendorEffect effect = vendor.observe(seen);
    EXPECT_EQ(effect.frozen_until, effect.now + 100ms);
  }
  EXPECT_EQ(vendor.inspect().strikes, 4);
  clock.advance(1s);
  seen.permit = vendor.acquire().permit;
  const VendorEffect effect = vendor.observe(seen);
  EXPECT_EQ(effect.frozen_until, effect.now + 1600ms);
}

TEST_P(VendorConformance, KeysAreApartAndAResetForgets) {
  Vendor vendor(*under, {.limits = {bucket(1, 1h, 1)}});
  EXPECT_TRUE(vendor.acquire({1}).allowed);
  EXPECT_TRUE(vendor.acquire({1}, "hubspot:43").allowed);
  EXPECT_FALSE(vendor.acquire({1}).allowed);
  vendor.reset();
  EXPECT_FALSE(vendor.inspect().exists);
  EXPECT_TRUE(vendor.acquire({1}).allowed);
}

TEST_P(VendorConformance, AClockThatStepsBackFarIsAFailureAndChangesNothing) {
  Vendor vendor(*under, {.limits = {bucket(2, 1h, 2)}});
  EXPECT_TRUE(vendor.acquire().allowed);
  clock.advance(-6s);
  const auto grant = vendor.try_acquire("hubspot:42", {1});
  ASSERT_FALSE(grant);
  EXPECT_EQ(grant.error().code, ErrorCode::clock_stepped_back);
  clock.advance(6s);
  EXPECT_EQ(vendor.inspect().remaining, (std::vector<core::Units>{1}));
}

/// Days that begin at 18:30 UTC.
const auto kZone = std::make_shared<const Zone>(
    Zone{.name = "Asia/Kolkata", .transitions = {{.at = kLongAgo, .utc_offset = 330min}}});

/// Policies of every kind; the last one of a history may be another than the first, as after a reload.
VendorPolicy drawn_policy(std::mt19937& random) {
  const auto draw = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % most); };
  VendorPolicy policy;
  const std::int64_t count = 1 + draw(3);
  for (std::int64_t i = 0; i < count; ++i) {
    switch (draw(4)) {
      case 0:
        policy.limits.push_back(bucket(1 + draw(20), 1s * (1 + draw(7)), 1 + draw(30)));
        break;
      case 1:
        policy.limits.push_back(per(20 + draw(500), 24h));
        policy.limits.back().zone = kZone;
        break;
      default:
        policy.limits.push_back(per(1 + draw(50), 1s * (1 + draw(9))));
    }
  }
  if (draw(2) == 0) policy.concurrent = static_cast<int>(1 + draw(6));
  policy.lease = 1s * (1 + draw(20));
  policy.freeze_cap = 1s * (1 + draw(60));
  policy.sync_percent = static_cast<int>(draw(30));
  return policy;
}

VendorObservation drawn_observation(std::mt19937& random, std::vector<core::PermitId>& calls, WallTime now) {
  const auto draw = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % most); };
  VendorObservation seen;
  seen.verdict = static_cast<VendorVerdict>(draw(8) < 5 ? 1 : draw(5));
  if (!calls.empty() && draw(5) != 0) {
    const auto which = static_cast<std::size_t>(draw(static_cast<std::int64_t>(calls.size())));
    seen.permit = calls[which];
    if (draw(5) != 0) calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(which));
  } else if (draw(2) == 0) {
    seen.sent = now - Duration{draw(3'000'000)};
  }
  if (draw(2) == 0) seen.freeze = Duration{draw(5'000'000)};
  for (auto& limit : seen.limits) {
    if (draw(3) == 0) limit.remaining = draw(3) == 0 ? 0 : draw(40);
    if (draw(3) == 0) limit.hold = Duration{draw(9'000'000)};
    if (draw(2) == 0) limit.resolution = 1s;
    if (draw(4) == 0) limit.actual = draw(9);
  }
  return seen;
}

/// What histories came by.
struct Reached {
  int allowed = 0, denied = 0, impossible = 0, froze = 0, lowered = 0, held = 0, settled = 0, fewer = 0,
      ignored = 0;
};

class VendorDifferential : public ::testing::TestWithParam<Backend> {};

INSTANTIATE_TEST_SUITE_P(Backends, VendorDifferential, ::testing::ValuesIn(quick_backends()), backend_name);

TEST_P(VendorDifferential, AnyHistoryGivesTheAnswersOfTheMemoryStore) {
  constexpr unsigned kHistories = 60;
  constexpr int kSteps = 80;
  Reached reached;
  for (unsigned seed = 1; seed <= kHistories; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % most); };
    VirtualClock clock;
    const auto model_store = quick_backends().front().make(clock);
    const auto under = GetParam().make(clock);
    VendorPolicy policy = drawn_policy(random);
    std::vector<core::PermitId> calls;
    for (int step = 0; step < kSteps; ++step) {
      if (draw(40) == 0) policy = drawn_policy(random);
      Vendor model(*model_store, policy);
      Vendor vendor(*under, policy);
      clock.advance(draw(30) == 0 ? 1s * draw(100) : Duration{draw(400'000)});
      // A denial is not written, so that a second connection does not know of its time.
      if (draw(60) == 0 && GetParam().name != "SqliteTwoConnections")
        clock.advance(-Duration{draw(2'000'000)});
      if (draw(3) != 0) {
        core::VendorCosts costs{};
        for (auto& cost : costs) cost = draw(4);
        const VendorGrant expected = model.acquire(costs);
        ASSERT_EQ(vendor.acquire(costs), expected) << "seed " << seed << " step " << step;
        if (expected.allowed) calls.push_back(expected.permit);
        reached.allowed += expected.allowed;
        reached.denied += !expected.allowed;
        reached.impossible += expected.impossible;
      } else {
        const VendorObservation seen = drawn_observation(random, calls, clock.now());
        const VendorEffect expected = model.observe(seen);
        ASSERT_EQ(vendor.observe(seen), expected) << "seed " << seed << " step " << step;
        reached.froze += expected.froze;
        reached.lowered += expected.lowered;
        reached.held += expected.held;
        reached.settled += expected.settled;
        reached.fewer += expected.fewer;
        reached.ignored += expected.ignored;
      }
      if (step % 8 == 0) {
        ASSERT_EQ(vendor.inspect().remaining, model.inspect().remaining)
            << "seed " << seed << " step " << step;
      }
    }
  }
  for (const int count : {reached.allowed, reached.denied, reached.impossible, reached.froze, reached.lowered,
                          reached.held, reached.settled, reached.fewer, reached.ignored})
    EXPECT_GT(count, 15);
}

}  // namespace
}  // namespace dripgate::testing
