// When calls of a vendor key start: spread over the window, each who waits at his own time, none in a freeze,
// no volley after it.
#include "unit/core/vendor_fixture.h"

namespace dripgate::core {
namespace {

using VendorStarts = VendorBucket;

TEST_F(VendorStarts, AWindowSpreadsItsStartsEvenlyOverAllButItsEnd) {
  policy.limits = {window(50, 1s)};
  EXPECT_TRUE(take(0s).allowed);
  EXPECT_EQ(take(0s).retry_after, 15ms);
  EXPECT_FALSE(take(15ms - 1us).allowed);
  EXPECT_TRUE(take(15ms).allowed);
  int together = 0;
  while (take(450ms).allowed) ++together;
  EXPECT_EQ(together, 29) << "what was not used so far in this window";
  while (take(735ms).allowed) ++together;
  EXPECT_EQ(together, 48) << "the last one begins a quarter of the window before its end";
}

TEST_F(VendorStarts, WhoWaitsIsToldAStartOfHisOwn) {
  policy.limits = {window(50, 1s)};
  take(0s);
  EXPECT_EQ(take(0s).retry_after, 15ms);
  EXPECT_EQ(take(0s).retry_after, 30ms);
  for (int i = 3; i < 50; ++i) EXPECT_EQ(take(0s).retry_after, Duration{i * 15'000});
  EXPECT_EQ(take(0s).retry_after, 1s) << "none is told a start in the window's end";
  int asked = 52;
  Duration latest = 1s;
  for (Duration wait = take(0s).retry_after; wait > latest; wait = take(0s).retry_after, ++asked)
    latest = wait;
  EXPECT_LE(latest, kToldAheadMax + 15ms);
  EXPECT_GE(asked, 490) << "then the telling begins anew";
  EXPECT_EQ(take(14ms).retry_after, 16ms);
}

TEST_F(VendorStarts, WhoWaitsForABucketIsToldAStartOfHisOwnToo) {
  policy.limits = {bucket(1, 10, 10s)};
  take(0s);
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(take(0s).retry_after, i * 1s);
  refuse(0s, 10s);
  for (int i = 1; i <= 5; ++i)
    EXPECT_EQ(take(0s).retry_after, 10s + i * 1s) << "no volley at the freeze's end";
}

TEST_F(VendorStarts, WhatWasLeftBeforeOurWindowBeganIsNotFollowedIntoIt) {
  policy.limits = {window(50, 1s)};
  const VendorGrant late = take(990ms);
  VendorObservation seen;
  seen.permit = late.permit;
  seen.limits[0] = {.remaining = 1, .hold = 1s, .resolution = 1s};
  EXPECT_FALSE(tell(1020ms, seen).lowered);
  EXPECT_EQ(view(state, policy, kT0 + 1020ms).remaining[0], 49) << "the call itself may count in this window";
  const VendorGrant other = take(1020ms);
  seen.permit = other.permit;
  EXPECT_TRUE(tell(1030ms, seen).lowered);
}

TEST_F(VendorStarts, AfterARefusalOneCallTriesTheVendorAndTheOthersWaitForIt) {
  policy.limits = {bucket(1000, 1000, 1s)};
  refuse(0s, 1s, take(0s).permit);
  const VendorGrant probe = take(2s);
  ASSERT_TRUE(probe.allowed);
  EXPECT_EQ(take(2s).retry_after, kProbeLook);
  EXPECT_FALSE(take(3s).allowed);
  succeed(3s, probe.permit);
  EXPECT_TRUE(take(3s).allowed);
  EXPECT_TRUE(take(3s).allowed);
  refuse(4s, 1s);
  ASSERT_TRUE(take(6s).allowed);
  EXPECT_FALSE(take(6s + kProbeFor - 1us).allowed);
  EXPECT_TRUE(take(6s + kProbeFor).allowed) << "whoever tried may be dead";
}

TEST_F(VendorStarts, WhoReportsRefusalsAloneIsNotLeftWithOneCallInFiveSecondsForEver) {
  policy.limits = {bucket(1000, 1000, 1s)};
  policy.freeze_cap = 60s;
  refuse(0s, 1s, take(0s).permit);
  for (Duration at = 2s; at < 1s + policy.freeze_cap; at += kProbeFor) {
    ASSERT_TRUE(take(at).allowed);
    ASSERT_FALSE(take(at).allowed) << "its answer is waited for";
  }
  take(1s + policy.freeze_cap);
  EXPECT_TRUE(take(1s + policy.freeze_cap).allowed) << "so long without a refusal is the end of a row";
}

TEST_F(VendorStarts, AThawEndsTheRowOfAFreezeThatIsOverToo) {
  policy.limits = {bucket(1000, 1000, 1s)};
  refuse(0s, 1s, take(0s).permit);
  ASSERT_TRUE(take(2s).allowed);
  ASSERT_FALSE(take(2s).allowed);
  VendorObservation thaw;
  thaw.verdict = VendorVerdict::thaw;
  tell(2s, thaw);
  EXPECT_EQ(view(state, policy, kT0 + 2s).strikes, 0);
  EXPECT_TRUE(take(2s).allowed);
}

TEST_F(VendorStarts, AFreezeStopsEverybodyAndAtItsEndStartsFollowTheBucket) {
  take(0s);
  EXPECT_EQ(refuse(100ms, 2s).frozen_until, kT0 + 2100ms);
  EXPECT_EQ(refuse(600ms, 1s).frozen_until, kT0 + 2100ms) << "a shorter hint does not shorten it";
  const VendorGrant denied = take(1s);
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.frozen_until, kT0 + 2100ms);
  EXPECT_EQ(denied.retry_after, 1100ms + 1s) << "empty at the end of the freeze";
  EXPECT_FALSE(take(3100ms - 1us).allowed);
  EXPECT_TRUE(take(3100ms).allowed);
  EXPECT_FALSE(take(3100ms).allowed) << "no volley";
}

TEST_F(VendorStarts, H9_AWindowIsSpreadAfterTheFreeze) {
  policy.limits = {window(50, 1s), window(10'000, 24h)};
  for (int i = 0; i < 30; ++i) take(Duration{i * 20'000}, 1, 1);
  EXPECT_EQ(refuse(600ms, 2s).frozen_until, kT0 + 2600ms);
  EXPECT_FALSE(take(2599ms, 1, 1).allowed);
  std::vector<Duration> starts;
  for (Duration at = 2600ms; at < 3600ms; at += 1ms) {
    for (VendorGrant grant = take(at, 1, 1); grant.allowed; grant = take(at, 1, 1)) {
      starts.push_back(at);
      succeed(at, grant.permit);
    }
  }
  EXPECT_LE(starts.size(), 50U);
  EXPECT_GE(starts.size(), 45U);
  for (std::size_t i = 1; i < starts.size(); ++i) EXPECT_GE(starts[i] - starts[i - 1], 14ms);
  EXPECT_EQ(view(state, policy, kT0 + 3600ms).remaining[1], 10'000 - 30 - static_cast<Units>(starts.size()));
}

}  // namespace
}  // namespace dripgate::core
