// Answer: what the policies say about one request. The front ends render it: render/gate_headers to HTTP
// headers and JSON, an RLS edge to statuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check/plan.h"
#include "config/snapshot.h"
#include "core/decision.h"

namespace dripgate::check {

enum class Kind : std::uint8_t {
  allowed,
  denied,       // over a limit: 429
  impossible,   // the cost is above what a limit can ever hold: 429 without a wait
  missing_key,  // a policy denies requests without its key: 429 without a wait
  unavailable,  // the store is away and a policy is closed: 503
};
/// "allowed", "denied", "impossible", "missing_key", "unavailable": for metrics and JSON.
[[nodiscard]] const char* to_string(Kind kind);

/// What one policy says.
struct PolicyAnswer {
  PlannedPolicy plan;
  /// One per limit; empty: it was not asked (unlimited, skipped, or another one had refused before).
  core::LimitOutcomes outcomes{};
  std::size_t decisive = 0;  // of `outcomes`: the limit that refused, else the one nearest to exhaustion
  bool replayed = false;     // remembered from a request with the same Idempotency-Key: nothing was charged

  /// Null: it says nothing in numbers (not asked, open, closed, given back).
  [[nodiscard]] const core::LimitOutcome* numbers() const {
    return decisive < outcomes.size() && outcomes[decisive].has_numbers ? &outcomes[decisive] : nullptr;
  }
  [[nodiscard]] core::Verdict verdict() const {
    return decisive < outcomes.size() ? outcomes[decisive].verdict : core::Verdict::allow;
  }
};

struct Answer {
  config::ConfigPtr config;  // keeps what the policies point to
  Kind kind = Kind::allowed;
  std::vector<PolicyAnswer> policies;  // every one that matches, the most specific first; shadow ones too
  /// The policy that refused, else the one nearest to exhaustion; empty: none of them has numbers.
  std::optional<std::size_t> decisive{};
  /// Of a refusal: the wait after which the same request can pass, never 0. Empty: never, or allowed.
  std::optional<Duration> retry_after{};
  /// What decided in place of the store: closed before local before open; empty: the store decided all.
  std::optional<core::FailureMode> degraded{};
  WallTime now{};           // the store's clock
  std::string refund_id{};  // for Checker::refund; empty: the store took nothing

  [[nodiscard]] bool allowed() const { return kind == Kind::allowed; }
  [[nodiscard]] const PolicyAnswer* deciding() const { return decisive ? &policies[*decisive] : nullptr; }
};

}  // namespace dripgate::check
