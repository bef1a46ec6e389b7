// Which charge of a request decides, when the store decided only some of them.
#include <gtest/gtest.h>

#include "core/check.h"

namespace dripgate::core {
namespace {

using namespace std::chrono_literals;

LimitOutcome allowed(Units remaining) {
  return {.verdict = Verdict::allow, .remaining = remaining, .reset_after = 1s, .retry_after = {}};
}
LimitOutcome denied(std::optional<Duration> wait) {
  return {.verdict = Verdict::deny, .remaining = 0, .reset_after = 1s, .retry_after = wait};
}
LimitOutcome by(FailureMode mode) {
  const Verdict verdict = mode == FailureMode::closed ? Verdict::deny : Verdict::allow;
  return {.verdict = verdict, .degraded = mode, .has_numbers = mode == FailureMode::local, .retry_after = {}};
}
Decision judged(LimitOutcomes outcomes) {
  Decision decision;
  decision.outcomes = std::move(outcomes);
  judge(decision);
  return decision;
}

TEST(Judge, AnUnavailableChargeDecidesBeforeEveryOtherRefusal) {
  LimitOutcome impossible{.verdict = Verdict::impossible, .retry_after = {}};
  const Decision decision = judged({denied(std::nullopt), impossible, by(FailureMode::closed)});
  EXPECT_EQ(decision.decisive, 2u);
  EXPECT_EQ(decision.verdict, Verdict::deny);
  EXPECT_TRUE(decision.unavailable());
  EXPECT_FALSE(judged({denied(1s), impossible}).unavailable());
  EXPECT_FALSE(Decision{}.unavailable());
}

TEST(Judge, AnAllowWithoutNumbersNeverHidesOneWithNumbers) {
  EXPECT_EQ(judged({by(FailureMode::open), allowed(7), allowed(3)}).decisive, 2u);
  EXPECT_EQ(judged({allowed(7), by(FailureMode::open)}).decisive, 0u);
  EXPECT_EQ(judged({by(FailureMode::open), denied(2s)}).decisive, 1u);
  const Decision open = judged({by(FailureMode::open), by(FailureMode::open)});
  EXPECT_EQ(open.verdict, Verdict::allow);
  EXPECT_FALSE(open.outcomes[open.decisive].has_numbers);
}

TEST(Judge, AWaitThatNeverEndsIsTheLongest) {
  EXPECT_EQ(judged({denied(1h), denied(std::nullopt), denied(2h)}).decisive, 1u);
}

TEST(DecisionDegraded, NamesTheStrictestModeThatTookPart) {
  EXPECT_EQ(judged({allowed(1)}).degraded(), std::nullopt);
  EXPECT_EQ(judged({allowed(1), by(FailureMode::open)}).degraded(), FailureMode::open);
  EXPECT_EQ(judged({by(FailureMode::local), by(FailureMode::open)}).degraded(), FailureMode::local);
  EXPECT_EQ(judged({by(FailureMode::open), by(FailureMode::local)}).degraded(), FailureMode::local);
  EXPECT_EQ(judged({by(FailureMode::local), by(FailureMode::closed)}).degraded(), FailureMode::closed);
}

}  // namespace
}  // namespace dripgate::core
