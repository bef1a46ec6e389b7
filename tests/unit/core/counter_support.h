// Short words for the counter tests: limits as in the cases' shorthand, and one counter with its state.
#pragma once

#include <cmath>

#include <gtest/gtest.h>

#include "core/check.h"
#include "core/counter.h"
#include "support/virtual_time.h"

namespace dripgate::core {

inline Limit tb(Units capacity, Units refill, Duration period) {
  return {.algorithm = Algorithm::token_bucket,
          .limit = refill,
          .window = period,
          .capacity = capacity,
          .zone = nullptr};
}
inline Limit fw(Units limit, Duration window) {
  return {.algorithm = Algorithm::fixed_window,
          .limit = limit,
          .window = window,
          .capacity = limit,
          .zone = nullptr};
}
inline Limit sl(Units limit, Duration window) {
  return {.algorithm = Algorithm::sliding_log,
          .limit = limit,
          .window = window,
          .capacity = limit,
          .zone = nullptr};
}

/// "+12.5": seconds after T0, exact to the microsecond.
inline WallTime plus(double seconds) {
  return testing::kT0 + Duration{std::llround(seconds * 1'000'000)};
}

struct Counter {
  Limit limit;
  CounterState state{};

  LimitOutcome call(WallTime now, Units cost = 1) {
    const CheckItem item{&state, &limit, cost};
    const Decision decision = consume({&item, 1}, now);
    EXPECT_EQ(decision.verdict, decision.outcomes.at(0).verdict);
    EXPECT_EQ(decision.now, now);
    return decision.outcomes.at(0);
  }
  /// How many of `count` equal calls pass.
  int passed(int count, WallTime now, Units cost = 1) {
    int passed = 0;
    for (int i = 0; i < count; ++i) passed += call(now, cost).verdict == Verdict::allow;
    return passed;
  }
  [[nodiscard]] LimitOutcome look(WallTime now, Units cost = 0) const {
    CounterState copy = state;
    const CheckItem item{&copy, &limit, cost};
    return peek({&item, 1}, now).outcomes.at(0);
  }
};

}  // namespace dripgate::core
