// One vendor key in memory, asked and told at any time; its state goes through its bytes each time.
#pragma once

#include <gtest/gtest.h>

#include "core/vendor_bucket.h"

namespace dripgate::core {

using namespace std::chrono_literals;

inline constexpr WallTime kT0{Duration{1'800'000'000'000'000}};

inline Limit window(Units units, Duration span) {
  return {.algorithm = Algorithm::fixed_window,
          .limit = units,
          .window = span,
          .capacity = units,
          .zone = nullptr};
}
inline Limit bucket(Units capacity, Units refill, Duration span) {
  return {.algorithm = Algorithm::token_bucket,
          .limit = refill,
          .window = span,
          .capacity = capacity,
          .zone = nullptr};
}

class VendorBucket : public ::testing::Test {
 protected:
  VendorGrant take(Duration at, Units cost = 1, Units second = 0) {
    VendorCosts costs{};
    costs[0] = cost;
    costs[1] = second;
    VendorState copy = state;
    const VendorGrant grant = acquire(copy, policy, costs, kT0 + at).value();
    if (grant.allowed || grant.retry_after > 0s) state = decode_vendor(encode(copy)).value();
    return grant;
  }
  VendorEffect tell(Duration at, VendorObservation seen) {
    const VendorEffect effect = observe(state, policy, seen, kT0 + at).value();
    state = decode_vendor(encode(state)).value();
    return effect;
  }
  VendorEffect refuse(Duration at, Duration retry_after, std::optional<PermitId> permit = {}) {
    VendorObservation seen;
    seen.verdict = VendorVerdict::refused;
    seen.freeze = retry_after;
    seen.permit = permit;
    return tell(at, seen);
  }
  VendorEffect succeed(Duration at, PermitId permit, Units remaining = -1) {
    VendorObservation seen;
    seen.verdict = VendorVerdict::answered;
    seen.permit = permit;
    seen.limits[0].remaining = remaining;
    return tell(at, seen);
  }

  VendorPolicy policy{.limits = {bucket(10, 10, 10s)}};
  VendorState state;
};

}  // namespace dripgate::core
