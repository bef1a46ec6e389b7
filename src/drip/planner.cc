#include "drip/planner.h"

#include <algorithm>

#include "drip/backoff.h"
#include "drip/reasons.h"

namespace dripgate::drip {

Plan plan_reserve(const core::ReserveAnswer& answer) {
  switch (answer.outcome) {
    case core::ReserveOutcome::now:
      return Release{answer.generation, answer.slot, answer.valid_until};
    case core::ReserveOutcome::at:
      return Book{answer.generation, answer.slot, answer.deciding_limit};
    case core::ReserveOutcome::beyond_horizon:
      return ToDeadLetters{reasons::kBeyondHorizon, answer.slot};
    case core::ReserveOutcome::impossible:
      return ToDeadLetters{reasons::kCostExceedsLimit, answer.now};
    case core::ReserveOutcome::conflict:
      return ToDeadLetters{reasons::kIdConflict, answer.now};
    case core::ReserveOutcome::duplicate:
      break;
  }
  return Drop{};
}

Plan plan_gate(const core::GateAnswer& answer, std::uint32_t ticket_generation) {
  switch (answer.outcome) {
    case core::GateOutcome::go:
      return Release{ticket_generation, answer.slot};
    case core::GateOutcome::rebook:
      return Book{answer.generation, answer.slot, answer.deciding_limit};
    case core::GateOutcome::beyond_horizon:
      return ToDeadLetters{reasons::kBeyondHorizon, answer.slot};
    case core::GateOutcome::impossible:
      return ToDeadLetters{reasons::kCostExceedsLimit, answer.now};
    case core::GateOutcome::duplicate:
      break;
  }
  return Drop{};
}

SinkPlan plan_sink(const broker::SinkAnswer& answer, const Event& event, int key_deferrals) {
  switch (answer.verdict) {
    case broker::SinkVerdict::confirmed:
      return Confirmed{};
    case broker::SinkVerdict::expired:
      return BookAgain{};
    case broker::SinkVerdict::refused:
      return ToDeadLetters{reasons::kRefusedBySink, {}};
    case broker::SinkVerdict::rate_limited:
      return Defer{
          deferral_wait(answer.retry_after.value_or(Duration{0}), std::max(event.deferrals, key_deferrals))};
    case broker::SinkVerdict::not_yet:
      return Defer{.wait = std::clamp(answer.retry_after.value_or(kDeferralMin), Duration{1}, kDeferralMax),
                   .refused = false};
    case broker::SinkVerdict::failed:
      break;
  }
  const int failures = event.attempts + 1;
  if (failures >= event.stream->max_attempts) return ToDeadLetters{reasons::kAttemptsExhausted, {}};
  const Duration hint = std::min(answer.retry_after.value_or(Duration{0}), kDeferralMax);
  return Retry{std::max(retry_wait(event.id, failures), hint)};
}

}  // namespace dripgate::drip
