// The arithmetic of the token bucket, inline for core/token_bucket and for the hot path of the memory store.
// Pure.
//
// `debt` is what is missing to a full bucket in 1/window of a unit, so that one us refills exactly `limit` of
// it and one unit is exactly `window` of it: no division before the answer is known. `numbers` is a Limit or
// a WrittenUnder: both name limit, window and capacity. Int is Wide, or 64 bits where the caller has seen
// that everything fits.
#pragma once

#include <algorithm>

#include "base/checked.h"
#include "core/counter.h"

namespace dripgate::core::token_bucket {

template <class Int>
struct Quotient {
  Int whole;
  std::int64_t rest;
};
/// dividend >= 0, divisor > 0. 128-bit division is a library call; nearly every number here fits 64 bits.
template <class Int>
Quotient<Int> divide(Int dividend, std::int64_t divisor) {
  if (dividend <= std::numeric_limits<std::int64_t>::max()) {
    const auto small = static_cast<std::int64_t>(dividend);
    return {small / divisor, small % divisor};
  }
  return {dividend / divisor, static_cast<std::int64_t>(dividend % divisor)};
}
template <class Int>
std::int64_t round_up(const Quotient<Int>& q) {
  return saturate(q.whole + (q.rest > 0 ? 1 : 0));
}

template <class Int>
Int full(const auto& numbers) {
  return Int{numbers.capacity} * numbers.window.count();
}

/// `numbers`: those that the state was written under.
inline Wide stored_debt(PackedState state, const auto& numbers, WallTime now) {
  if (numbers.limit == 0) return Wide{state.value} * numbers.window.count();
  const Wide debt = Wide{(state.time - now).count()} * numbers.limit + state.value;
  return std::max<Wide>(debt, 0);
}

struct Stored {
  PackedState state;
  Duration refill;  // until full, rounded up
};
template <class Int>
Stored stored(Int debt, const auto& numbers, WallTime now) {
  if (debt == 0) return {{now, 0}, Duration{0}};
  if (numbers.limit == 0) {
    // A fraction that a refund leaves missing can never be refilled: it counts as a unit.
    return {{kNeverEnds, round_up(divide(debt, numbers.window.count()))}, kNeverResets};
  }
  const Quotient<Int> q = divide(debt, numbers.limit);
  const std::int64_t time = std::min(saturating_add(to_us(now), saturate(q.whole)), to_us(kNeverEnds));
  return {{from_us(time), q.rest}, Duration{round_up(q)}};
}

/// `full_debt`: of an empty bucket.
template <class Int>
PackedState decide(Int debt, Int full_debt, const Limit& limit, Units cost, WallTime now,
                   LimitOutcome& outcome) {
  const std::int64_t window = limit.window.count();
  const Units asked = std::max<Units>(cost, 1);
  outcome.verdict = Verdict::allow;
  outcome.retry_after.reset();
  if (asked > limit.capacity) {
    outcome.verdict = limit.capacity > 0 ? Verdict::impossible : Verdict::deny;
  } else if (const Int over = debt + Int{asked} * window - full_debt; over > 0) {
    outcome.verdict = Verdict::deny;
    if (limit.limit > 0) outcome.retry_after = Duration{round_up(divide(over, limit.limit))};
  } else {
    debt += Int{std::max<Units>(cost, 0)} * window;
  }
  const Stored after = stored(debt, limit, now);
  const Int left = full_debt - debt;
  outcome.remaining = left <= 0 ? 0 : static_cast<Units>(divide(left, window).whole);
  outcome.reset_after = after.refill;
  return after.state;
}

/// core/counter.h, evaluate_packed.
inline PackedState evaluate_packed(PackedState state, const Limit& limit, Units cost, WallTime now,
                                   LimitOutcome& outcome) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 60;  // a sum of a few of these fits 64 bits
  std::int64_t full_debt = 0;
  std::int64_t debt = 0;
  const bool small = !__builtin_mul_overflow(limit.capacity, limit.window.count(), &full_debt) &&
                     full_debt <= kSmall && limit.limit > 0 && limit.limit <= kSmall &&
                     !__builtin_mul_overflow((state.time - now).count(), limit.limit, &debt) &&
                     debt <= kSmall;
  if (!small) {
    const Wide wide_debt = stored_debt(state, limit, now);
    return decide<Wide>(wide_debt, full<Wide>(limit), limit, cost, now, outcome);
  }
  debt = std::max<std::int64_t>(debt + state.value, 0);
  return decide<std::int64_t>(debt, full_debt, limit, cost, now, outcome);
}

}  // namespace dripgate::core::token_bucket
