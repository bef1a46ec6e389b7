#include "embed/outward.h"

#include <utility>

#include "embed/answer.h"
#include "render/gate_headers.h"

namespace dripgate::embed {
namespace {

std::optional<v1::Span> reset_of(const core::LimitOutcome& outcome) {
  if (outcome.reset_after == core::kNeverResets) return std::nullopt;
  return outcome.reset_after;
}

v1::Role role_of(check::Role role) {
  switch (role) {
    case check::Role::enforced:
      return v1::Role::enforced;
    case check::Role::shadow:
      return v1::Role::shadow;
    case check::Role::unlimited:
      return v1::Role::unlimited;
    case check::Role::skipped:
      return v1::Role::skipped;
    case check::Role::refuses:
      return v1::Role::refuses;
  }
  std::unreachable();
}

v1::Outcome outcome_of(check::Kind kind) {
  switch (kind) {
    case check::Kind::allowed:
      return v1::Outcome::allowed;
    case check::Kind::denied:
      return v1::Outcome::denied;
    case check::Kind::impossible:
      return v1::Outcome::impossible;
    case check::Kind::missing_key:
      return v1::Outcome::missing_key;
    case check::Kind::unavailable:
      return v1::Outcome::unavailable;
  }
  std::unreachable();
}

v1::Algorithm algorithm_of(core::Algorithm algorithm) {
  switch (algorithm) {
    case core::Algorithm::fixed_window:
      return v1::Algorithm::fixed_window;
    case core::Algorithm::sliding_log:
      return v1::Algorithm::sliding_log;
    case core::Algorithm::token_bucket:
      return v1::Algorithm::token_bucket;
  }
  std::unreachable();
}

bool allows(const check::PolicyAnswer& policy) {
  return policy.plan.role != check::Role::refuses && policy.verdict() == core::Verdict::allow;
}

v1::PolicyDecision decision_of(const check::PolicyAnswer& policy) {
  v1::PolicyDecision out{.policy = policy.plan.policy->name,
                         .allowed = allows(policy),
                         .role = role_of(policy.plan.role),
                         .replayed = policy.replayed};
  if (const core::LimitOutcome* numbers = policy.numbers()) {
    out.remaining = numbers->remaining;
    out.reset_after = reset_of(*numbers);
  }
  return out;
}

/// Of the policy that decides.
void add_deciding(v1::Decision& out, const check::PolicyAnswer& policy) {
  out.policy = policy.plan.policy->name;
  if (policy.decisive < policy.plan.limits.size()) out.limit = policy.plan.limits[policy.decisive].max_cost();
  if (const core::LimitOutcome* numbers = policy.numbers()) {
    out.remaining = numbers->remaining;
    out.reset_after = reset_of(*numbers);
  }
}

v1::ExplainedPolicy explained(const check::PolicyAnswer& policy) {
  v1::ExplainedPolicy out{.id = policy.plan.policy->id,
                          .role = role_of(policy.plan.role),
                          .allowed = allows(policy),
                          .missing = policy.plan.missing};
  if (policy.plan.override != nullptr) out.override_of = policy.plan.override->value;
  for (std::size_t i = 0; i < policy.plan.limits.size(); ++i) {
    v1::ExplainedLimit limit{.limit = outward(policy.plan.limits[i]), .counter_key = policy.plan.keys[i]};
    if (i < policy.outcomes.size() && policy.outcomes[i].has_numbers) {
      limit.remaining = policy.outcomes[i].remaining;
      limit.reset_after = reset_of(policy.outcomes[i]);
    }
    out.limits.push_back(std::move(limit));
  }
  return out;
}

}  // namespace

v1::Error outward(const Error& error) {
  // One list of codes, in one order (base/result.h, dripgate/result.h).
  static_assert(static_cast<int>(ErrorCode::cancelled) == static_cast<int>(v1::ErrorCode::cancelled));
  static_assert(static_cast<int>(ErrorCode::timed_out) == static_cast<int>(v1::ErrorCode::timed_out));
  return {static_cast<v1::ErrorCode>(error.code), error.transient, error.detail};
}

v1::Limit outward(const core::Limit& limit) {
  return {.algorithm = algorithm_of(limit.algorithm),
          .limit = limit.limit,
          .window = limit.window,
          .capacity = limit.algorithm == core::Algorithm::token_bucket ? limit.capacity : 0,
          .timezone = limit.zone == nullptr ? std::string() : limit.zone->name};
}

v1::FailureMode outward(core::FailureMode mode) {
  switch (mode) {
    case core::FailureMode::local:
      return v1::FailureMode::local;
    case core::FailureMode::open:
      return v1::FailureMode::open;
    case core::FailureMode::closed:
      return v1::FailureMode::closed;
  }
  std::unreachable();
}

v1::Decision outward(const check::Answer& answer, bool legacy) {
  v1::Decision out{.outcome = outcome_of(answer.kind),
                   .status = render::status_of(answer),
                   .retry_after = answer.retry_after,
                   .refund_id = answer.refund_id,
                   .headers = render::gate_headers(answer, legacy)};
  if (answer.deciding() != nullptr) add_deciding(out, *answer.deciding());
  if (answer.degraded) out.degraded = outward(*answer.degraded);
  for (const check::PolicyAnswer& policy : answer.policies) out.policies.push_back(decision_of(policy));
  out.headers.emplace_back("Cache-Control", "no-store");
  if (!answer.allowed()) out.problem = render::refusal_document(answer);
  return out;
}

v1::Explanation outward(const check::Explanation& explanation, bool legacy) {
  v1::Explanation out{.decision = outward(explanation.answer, legacy)};
  for (const check::PolicyAnswer& policy : explanation.answer.policies)
    out.matched.push_back(explained(policy));
  for (const check::Mismatch& other : explanation.others)
    out.others.push_back({.id = other.policy->id, .fact = other.name, .accepted = other.accepted});
  return out;
}

}  // namespace dripgate::embed
