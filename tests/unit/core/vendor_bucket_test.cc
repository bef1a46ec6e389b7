// The shared bucket of a vendor key, sentence by sentence, and against a plain model.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "base/checked.h"
#include "core/fixed_window.h"
#include "unit/core/vendor_fixture.h"

namespace dripgate::core {
namespace {

using namespace std::chrono_literals;

TEST_F(VendorBucket, ABucketGivesItsCapacityAndThenItsRate) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(take(0s).allowed);
  const VendorGrant denied = take(0s);
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.retry_after, 1s);
  EXPECT_FALSE(take(1s - 1us).allowed);
  EXPECT_TRUE(take(1s).allowed);
}

TEST_F(VendorBucket, SeveralDimensionsAllOrNothing) {
  policy.limits = {bucket(10, 10, 60s), bucket(1000, 1000, 60s)};
  EXPECT_TRUE(take(0s, 1, 900).allowed);
  const VendorGrant denied = take(0s, 1, 200);
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.retry_after, 6s);
  EXPECT_EQ(view(state, policy, kT0).remaining, (std::vector<Units>{9, 100}));
  EXPECT_TRUE(take(0s, 1, 2000).impossible);
}

TEST_F(VendorBucket, AThawInTheWindowOfTheRefusalForgetsNothingThatItHadUsed) {
  policy.limits = {window(50, 1s)};
  EXPECT_TRUE(take(0s, 40).allowed);
  refuse(10ms, 5s);
  VendorObservation thaw;
  thaw.verdict = VendorVerdict::thaw;
  tell(20ms, thaw);
  EXPECT_EQ(view(state, policy, kT0 + 20ms).remaining[0], 10);
  Units more = 0;
  for (Duration at = 20ms; at < 1s; at += 1ms) more += take(at).allowed ? 1 : 0;
  EXPECT_EQ(more, 10);
}

TEST_F(VendorBucket, AFreezeThatEndsInALaterWindowLeavesTheRestOfItAndCountsWhatCameOverTheEdge) {
  policy.limits = {window(50, 1s)};
  EXPECT_TRUE(take(900ms, 30).allowed);
  refuse(910ms, 290ms);
  EXPECT_EQ(take(950ms).retry_after, 500ms) << "30 of 50 begin within 450 of its first 750 ms";
  EXPECT_EQ(view(state, policy, kT0 + 1200ms).remaining[0], 20) << "30 may be counted on both sides";
  EXPECT_FALSE(take(1450ms - 1us).allowed);
  EXPECT_TRUE(take(1450ms).allowed);
}

TEST_F(VendorBucket, AKeyIsKeptUntilTheWindowIsOverInWhichItsFreezeEnds) {
  policy.limits = {window(36, 1h)};
  refuse(59min, 11min);
  EXPECT_EQ(view(state, policy, kT0 + 70min).remaining[0], 36 - 7) << "of 59 min 59.75 s for 36";
  EXPECT_GE(kept_until(state, policy), kT0 + 2h);
}

TEST_F(VendorBucket, RefusalsInARowDoubleTheFloorUpToTheCap) {
  policy.limits = {bucket(1000, 1000, 1s)};
  Duration at = 0s;
  int requests = 0;
  for (; at < 10s; ++requests) {
    const VendorGrant grant = take(at);
    ASSERT_TRUE(grant.allowed);
    const VendorEffect effect = refuse(at, 0s, grant.permit);
    at = take(at).retry_after + (effect.now - kT0);
  }
  EXPECT_LE(requests, 8) << "H1: never a hot loop";
  EXPECT_GE(requests, 6);
  policy.freeze_cap = 5s;
  EXPECT_EQ(refuse(100s, 1h).frozen_until, kT0 + 105s) << "capped";
}

TEST_F(VendorBucket, AFloorOfHoursIsDoubledUpToTheCapHoweverManyRefusalsThereWere) {
  policy.freeze_floor = 12h;
  policy.freeze_cap = 24h;
  Duration at = 0s;
  for (int refusal = 1; refusal <= kStrikesMax + 2; ++refusal) {
    const Duration frozen = refusal == 1 ? 12h : 24h;
    EXPECT_EQ(refuse(at, 0s).frozen_until, kT0 + at + frozen) << refusal;
    at += frozen + 1s;
  }
}

TEST_F(VendorBucket, ASuccessInFlightDoesNotThawAndOneAfterwardsEndsTheRow) {
  const VendorGrant first = take(0s);
  const VendorGrant second = take(0s);
  refuse(100ms, 0s, first.permit);
  EXPECT_EQ(succeed(150ms, second.permit).frozen_until, kT0 + 200ms);
  EXPECT_EQ(view(state, policy, kT0 + 150ms).strikes, 1);
  const VendorGrant third = take(2s);
  ASSERT_TRUE(third.allowed);
  succeed(2100ms, third.permit);
  EXPECT_EQ(view(state, policy, kT0 + 2100ms).strikes, 0);
}

TEST_F(VendorBucket, RefusalsOfCallsSentTogetherFreezeForTheFloorAndTheNextOneForLong) {
  policy.limits = {bucket(1000, 1000, 1s)};
  std::vector<PermitId> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(take(0s).permit);
  for (const PermitId& call : calls) EXPECT_EQ(refuse(100ms, 0s, call).frozen_until, kT0 + 200ms);
  EXPECT_EQ(view(state, policy, kT0 + 100ms).strikes, 4) << "they count, but not eightfold";
  const VendorGrant probe = take(300ms);
  ASSERT_TRUE(probe.allowed);
  EXPECT_EQ(refuse(400ms, 0s, probe.permit).frozen_until, kT0 + 2s) << "the vendor means it";
}

TEST_F(VendorBucket, ALateRefusalOfACallSentBeforeTheRowAddsNothingToALongOne) {
  policy.limits = {bucket(1000, 1000, 1s)};
  const VendorGrant late = take(0s);
  Duration at = 0s;
  for (int i = 0; i < 6; ++i) {
    const VendorGrant probe = take(at);
    ASSERT_TRUE(probe.allowed);
    refuse(at + 1ms, 0s, probe.permit);
    at += take(at + 1ms).retry_after + 1ms;
  }
  refuse(at, 0s, late.permit);
  EXPECT_EQ(view(state, policy, kT0 + at).strikes, 6);
}

TEST_F(VendorBucket, S12c_ALowerReportIsFollowedLessTheCallsInFlight) {
  policy.limits = {bucket(100, 1, 1h)};
  std::vector<PermitId> calls;
  for (int i = 0; i < 41; ++i) calls.push_back(take(0s).permit);
  EXPECT_TRUE(succeed(10ms, calls[0], 3).lowered);
  EXPECT_EQ(view(state, policy, kT0 + 10ms).remaining[0], 0) << "40 are in flight";
  EXPECT_FALSE(succeed(20ms, calls[1], 90).lowered);
  EXPECT_EQ(view(state, policy, kT0 + 20ms).remaining[0], 0) << "never raised";
}

TEST_F(VendorBucket, ASmallDifferenceIsNotFollowedAndOlderResponsesAreIgnored) {
  policy.limits = {bucket(100, 1, 1h)};
  const VendorGrant older = take(0s);
  const VendorGrant newer = take(1s);
  EXPECT_FALSE(succeed(2s, newer.permit, 90).lowered) << "98 and 90: within 10 %";
  EXPECT_TRUE(succeed(3s, older.permit, 5).ignored);
  EXPECT_EQ(view(state, policy, kT0 + 3s).remaining[0], 98);
  EXPECT_TRUE(succeed(4s, take(4s).permit, 86).lowered);
}

TEST_F(VendorBucket, NothingLeftWaitsForTheVendorsReset) {
  policy.limits = {window(100, 10s), window(1000, 24h)};
  const VendorGrant call = take(0s, 1, 1);
  VendorObservation seen;
  seen.verdict = VendorVerdict::answered;
  seen.permit = call.permit;
  seen.limits[0] = {.remaining = 99};
  seen.limits[1] = {.remaining = 0, .hold = 3h, .resolution = 1s};
  EXPECT_TRUE(tell(1s, seen).held);
  EXPECT_EQ(take(2s, 1, 1).retry_after, 3h - 1s) << "H6 b: the day is what is empty";
  EXPECT_TRUE(take(2s, 1, 0).allowed);
}

TEST_F(VendorBucket, AResetInWholeSecondsThatMayBeOurWindowsEndIsIt) {
  policy.limits = {window(50, 1s)};
  const VendorGrant call = take(100ms);
  VendorObservation seen;
  seen.permit = call.permit;
  seen.limits[0] = {.remaining = 0, .hold = 1s, .resolution = 1s};
  EXPECT_TRUE(tell(200ms, seen).lowered);
  EXPECT_EQ(take(300ms).retry_after, 700ms);
}

TEST_F(VendorBucket, TheActualCostIsChargedAfterwards) {
  policy.limits = {bucket(10, 1, 1h), bucket(1000, 1, 1h)};
  const VendorGrant call = take(0s, 1, 100);
  VendorObservation seen;
  seen.permit = call.permit;
  seen.limits[1].actual = 700;
  EXPECT_TRUE(tell(1ms, seen).settled);
  EXPECT_EQ(view(state, policy, kT0 + 1ms).remaining, (std::vector<Units>{9, 300}));
  EXPECT_FALSE(tell(2ms, seen).settled) << "once";
  EXPECT_EQ(view(state, policy, kT0 + 1ms).remaining[1], 300);
}

TEST_F(VendorBucket, PermitsComeBackByObservationOrWhenTheirLeaseEndsNoSooner) {
  policy.limits = {bucket(1000, 1000, 1s)};
  policy.concurrent = 5;
  policy.lease = 60s;
  std::vector<PermitId> calls;
  for (int i = 0; i < 5; ++i) calls.push_back(take(0s).permit);
  EXPECT_FALSE(take(1s).allowed);
  EXPECT_TRUE(succeed(1s, calls[0]).returned);
  EXPECT_TRUE(take(1s).allowed);
  EXPECT_FALSE(take(60s - 1us).allowed) << "the worker is dead; its permits are not back yet";
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(take(60s).allowed) << i;
  EXPECT_FALSE(take(60s).allowed) << "the one of +1 s is still out";
  EXPECT_FALSE(succeed(60s, calls[1]).returned);
}

TEST_F(VendorBucket, AConcurrencyRefusalLowersTheCallsInFlightAndFreezesNothing) {
  policy.limits = {bucket(1000, 1000, 1s)};
  policy.concurrent = 10;
  std::vector<PermitId> calls;
  for (int i = 0; i < 6; ++i) calls.push_back(take(0s).permit);
  VendorObservation seen;
  seen.verdict = VendorVerdict::concurrency;
  seen.permit = calls[0];
  const VendorEffect effect = tell(10ms, seen);
  EXPECT_TRUE(effect.fewer);
  EXPECT_FALSE(effect.frozen_until);
  EXPECT_FALSE(take(20ms).allowed) << "five are in flight, and five it is now";
  EXPECT_TRUE(succeed(30ms, calls[1]).returned);
  EXPECT_TRUE(take(30ms).allowed);
  EXPECT_EQ(view(state, policy, kT0 + 61s).concurrent, 10);
}

TEST_F(VendorBucket, CallsInFlightAtAWindowsEdgeCountOnBothSides) {
  policy.limits = {window(10, 1s)};
  const VendorGrant late = take(950ms);
  EXPECT_EQ(view(state, policy, kT0 + 1s).remaining[0], 9);
  succeed(990ms, late.permit);
  EXPECT_EQ(view(state, policy, kT0 + 1s).remaining[0], 10);
}

TEST_F(VendorBucket, AClockThatStepsBackNeverAdmitsMore) {
  for (int i = 0; i < 10; ++i) take(10s);
  EXPECT_FALSE(take(6s).allowed);
  EXPECT_EQ(acquire(state, policy, {1}, kT0 + 1s).error().code, ErrorCode::clock_stepped_back);
}

TEST_F(VendorBucket, LimitZeroAdmitsNobodyAndForgottenStatesEqualNone) {
  policy.limits = {window(0, 1s)};
  EXPECT_FALSE(take(0s).allowed);
  policy.limits = {bucket(10, 10, 10s)};
  take(0s);
  EXPECT_EQ(view(state, policy, kept_until(state, policy)).remaining, view({}, policy, kT0).remaining);
}

/// Every admission in a list, counted over from the start each time.
struct PlainModel {
  const VendorPolicy& policy;
  std::map<std::uint64_t, std::pair<WallTime, Units>> all;  // by permit
  std::map<std::uint64_t, WallTime> out;
  WallTime frozen = kLongAgo;

  [[nodiscard]] Units in_window(const Limit& limit, WallTime now) const {
    Units units = 0;
    for (const auto& [id, one] : all)
      if (window_start(limit, one.first) == window_start(limit, now)) units += one.second;
    return units;
  }
  /// Units that a bucket which began full at the first admission can have given until now.
  [[nodiscard]] bool bucket_holds(const Limit& limit) const {
    for (const auto& [from, first] : all) {
      Wide units = 0;
      for (auto it = all.find(from); it != all.end(); ++it) {
        units += it->second.second;
        const Wide most = Wide{limit.capacity} * limit.window.count() +
                          Wide{(it->second.first - first.first).count()} * limit.limit;
        if (units * limit.window.count() > most) return false;
      }
    }
    return true;
  }
};

TEST_F(VendorBucket, RandomHistoriesKeepEveryPromise) {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
    policy = {.limits = {window(5 + draw(20), 1s), window(60, 10s), bucket(30, 15, 1s)},
              .concurrent = draw(2) * (3 + draw(10)),
              .lease = 2s,
              .freeze_cap = 4s};
    state = {};
    PlainModel model{.policy = policy, .all = {}, .out = {}};
    Duration at = 0s;
    std::vector<PermitId> calls;
    for (int step = 0; step < 300; ++step) {
      at += Duration{draw(80'000)};
      if (draw(4) != 0) {
        const Units cost = 1 + draw(3);
        VendorCosts costs{cost, cost, cost};
        const VendorGrant grant = acquire(state, policy, costs, kT0 + at).value();
        std::erase_if(model.out, [&](const auto& one) { return one.second <= kT0 + at; });
        if (!grant.allowed) {
          ASSERT_GT(grant.retry_after, 0s) << seed;
          continue;
        }
        ASSERT_GE(kT0 + at, model.frozen) << seed;
        model.all[grant.permit.number] = {kT0 + at, cost};
        model.out[grant.permit.number] = kT0 + at + policy.lease;
        calls.push_back(grant.permit);
        ASSERT_LE(model.in_window(policy.limits[0], kT0 + at), policy.limits[0].limit) << seed;
        ASSERT_LE(model.in_window(policy.limits[1], kT0 + at), policy.limits[1].limit) << seed;
        ASSERT_TRUE(model.bucket_holds(policy.limits[2])) << seed;
        if (policy.concurrent > 0) {
          ASSERT_LE(model.out.size(), static_cast<std::size_t>(policy.concurrent)) << seed;
        }
      } else if (!calls.empty()) {
        const auto which = static_cast<std::size_t>(draw(static_cast<int>(calls.size())));
        VendorObservation seen;
        seen.permit = calls[which];
        calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(which));
        seen.verdict = draw(12) == 0 ? VendorVerdict::refused : VendorVerdict::answered;
        if (draw(20) == 0) seen.verdict = VendorVerdict::thaw;
        seen.freeze = Duration{draw(700'000)};
        const std::vector<Units> before = view(state, policy, kT0 + at).remaining;
        seen.limits[0].remaining = draw(3) == 0 ? draw(25) : -1;
        const VendorEffect effect = observe(state, policy, seen, kT0 + at).value();
        model.out.erase(seen.permit->number);
        if (seen.verdict == VendorVerdict::thaw) {
          ASSERT_FALSE(effect.frozen_until) << seed;
          model.frozen = kLongAgo;
        } else if (effect.frozen_until) {
          ASSERT_GE(*effect.frozen_until, model.frozen) << seed;
          model.frozen = *effect.frozen_until;
        }
        const std::vector<Units> after = view(state, policy, kT0 + at).remaining;
        for (std::size_t i = 0; i < 3; ++i)
          if (!effect.froze) ASSERT_LE(after[i], before[i]) << seed << ": never raised";
      }
      state = decode_vendor(encode(state)).value();
    }
  }
}

}  // namespace
}  // namespace dripgate::core
