// See the header. Two passes: every item is evaluated before the first state is written.
#include "core/check.h"

#include <algorithm>

#include "base/limits.h"
#include "core/fixed_window.h"
#include "core/sliding_log.h"
#include "core/token_bucket.h"
#include "core/window_counter.h"

namespace dripgate::core {
namespace {

/// What all items of this state ask together.
Units joint_cost(std::span<const CheckItem> items, const CounterState* state) {
  Units cost = 0;
  for (const CheckItem& item : items)
    if (item.state == state && __builtin_add_overflow(cost, std::max<Units>(item.cost, 0), &cost))
      return std::numeric_limits<Units>::max();
  return cost;
}

bool first_of_its_state(std::span<const CheckItem> items, std::size_t index) {
  return std::none_of(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(index),
                      [&](const CheckItem& earlier) { return earlier.state == items[index].state; });
}

int severity(const LimitOutcome& outcome) {
  if (outcome.degraded == FailureMode::closed) return 3;
  return outcome.verdict == Verdict::impossible ? 2 : outcome.verdict == Verdict::deny ? 1 : 0;
}

/// True: `a` decides rather than `b`.
bool decides(const LimitOutcome& a, const LimitOutcome& b) {
  if (severity(a) != severity(b)) return severity(a) > severity(b);
  if (a.has_numbers != b.has_numbers) return a.has_numbers;
  if (a.verdict == Verdict::deny)
    return a.retry_after.value_or(kNeverResets) > b.retry_after.value_or(kNeverResets);
  if (a.remaining != b.remaining) return a.remaining < b.remaining;
  return a.reset_after > b.reset_after;
}

/// A refused request takes nothing, also from the limits that had room: they show what they had.
void show_untouched(std::span<const CheckItem> items, WallTime now, Decision& decision) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    LimitOutcome& outcome = decision.outcomes[i];
    if (outcome.verdict != Verdict::allow) continue;
    outcome = evaluate(*items[i].state, *items[i].limit, 0, now).outcome;
    outcome.verdict = Verdict::allow;
  }
}

void write(std::span<const CheckItem> items, WallTime now, const Decision& decision,
           std::span<const Step> steps) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!first_of_its_state(items, i)) continue;
    const Units cost = joint_cost(items, items[i].state);
    if (decision.verdict == Verdict::allow && cost > 0) {
      commit(*items[i].state, *items[i].limit, cost, steps[i]);
    } else {
      adopt(*items[i].state, *items[i].limit, now);
    }
  }
}

Decision decide(std::span<const CheckItem> items, WallTime now, bool take) {
  Decision decision;
  decision.now = now;
  std::vector<Step> steps;
  steps.reserve(items.size());
  decision.outcomes.reserve(items.size());
  for (const CheckItem& item : items) {
    steps.push_back(evaluate(*item.state, *item.limit, joint_cost(items, item.state), now));
    decision.outcomes.push_back(steps.back().outcome);
  }
  judge(decision);
  if (decision.verdict != Verdict::allow) show_untouched(items, now, decision);
  if (take) write(items, now, decision, steps);
  return decision;
}

}  // namespace

void judge(Decision& decision) {
  decision.decisive = 0;
  for (std::size_t i = 1; i < decision.outcomes.size(); ++i)
    if (decides(decision.outcomes[i], decision.outcomes[decision.decisive])) decision.decisive = i;
  if (!decision.outcomes.empty()) decision.verdict = decision.outcomes[decision.decisive].verdict;
}

std::optional<FailureMode> Decision::degraded() const {
  std::optional<FailureMode> strictest;
  for (const LimitOutcome& outcome : outcomes) {
    if (outcome.degraded == FailureMode::closed) return FailureMode::closed;
    if (outcome.degraded && strictest != FailureMode::local) strictest = outcome.degraded;
  }
  return strictest;
}

Decision consume(std::span<const CheckItem> items, WallTime now) {
  return decide(items, now, true);
}
Decision peek(std::span<const CheckItem> items, WallTime now) {
  return decide(items, now, false);
}

bool refund(CounterState& state, const Limit& limit, Units cost, WallTime consumed_at, WallTime now) {
  if (!state.exists || cost <= 0 || state.written.algorithm != limit.algorithm ||
      now >= refundable_until(limit, cost, consumed_at))
    return false;
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
      return token_bucket::refund(state, limit, cost, consumed_at, now);
    case Algorithm::sliding_log:
      return sliding_log::refund(state, cost, consumed_at, now);
    case Algorithm::fixed_window:
      break;
  }
  return window_counter::refund(state, limit, cost, consumed_at, now);
}

WallTime refundable_until(const Limit& limit, Units cost, WallTime consumed_at) {
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
      return token_bucket::refundable_until(limit, cost, consumed_at);
    case Algorithm::sliding_log:
      return consumed_at + limit.window;
    case Algorithm::fixed_window:
      break;
  }
  return window_end(limit, consumed_at);
}

Result<WallTime> clamp_clock(WallTime last_seen, WallTime now) {
  if (now >= last_seen) return now;
  if (last_seen - now <= kClockClampMax) return last_seen;
  return fail(ErrorCode::clock_stepped_back,
              "the store's clock is " + std::to_string((last_seen - now).count()) +
                  " us behind the last time seen; at most " + std::to_string(kClockClampMax.count()) +
                  " us are bridged",
              true);
}

}  // namespace dripgate::core
