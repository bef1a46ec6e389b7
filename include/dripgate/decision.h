// Decision: the whole answer to one check: what the HTTP API of Dripgate gives, headers and problem document
// included. Plain values; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dripgate/policy.h"
#include "dripgate/result.h"

namespace dripgate::DRIPGATE_V1 {

enum class Outcome {
  allowed,
  denied,       // over a limit: 429
  impossible,   // the cost is above what a limit can ever hold: 429 without a wait
  missing_key,  // a policy denies requests without its key: 429 without a wait
  unavailable,  // the store is away and a policy is closed: 503
};

/// How a policy took part.
enum class Role {
  enforced,
  shadow,     // evaluated and counted, never denies
  unlimited,  // the policy, or the override of this value, has no limit
  skipped,    // a key part is missing and the policy says skip
  refuses,    // a key part is missing and the policy says deny
};

/// What one matching policy says.
struct PolicyDecision {
  std::string policy{};  // its name
  bool allowed = true;
  std::optional<std::int64_t>
      remaining{};                    // whole units left; empty: it has no numbers (not asked, degraded)
  std::optional<Span> reset_after{};  // until full or the window's end; empty: never, or unknown
  Role role = Role::enforced;
  bool replayed = false;  // remembered from a request with the same idempotency key: nothing was charged
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Decision {
  Outcome outcome = Outcome::allowed;
  int status = 200;  // 200, 429 or 503
  /// Of the policy that refused, else of the one nearest to exhaustion; empty: none has numbers.
  std::optional<std::string> policy{};
  std::optional<std::int64_t> limit{};
  std::optional<std::int64_t> remaining{};
  std::optional<Span> reset_after{};
  /// Of a refusal: the exact wait after which the same request can pass, never 0. Empty: never, or allowed.
  std::optional<Span> retry_after{};
  /// What decided in place of the store; empty: the store decided all.
  std::optional<FailureMode> degraded{};
  std::string refund_id{};                 // for Limiter::refund; empty: the store took nothing
  std::vector<PolicyDecision> policies{};  // every one that matches, the most specific first
  /// RateLimit-Policy, RateLimit, on a refusal that can pass later Retry-After, Cache-Control: for every
  /// response, allowed or not.
  Headers headers{};
  std::string problem{};  // of a refusal: the body, application/problem+json

  [[nodiscard]] bool allowed() const { return outcome == Outcome::allowed; }
};

/// Of Limiter::explain: one limit of a policy that matches.
struct ExplainedLimit {
  Limit limit{};
  std::string counter_key{};  // secrets only as digests
  std::optional<std::int64_t> remaining{};
  std::optional<Span> reset_after{};
};

struct ExplainedPolicy {
  std::string id{};
  Role role = Role::enforced;
  bool allowed = true;
  std::string override_of{};           // the value whose override counts; empty: none
  std::vector<std::string> missing{};  // key parts that the request does not have
  std::vector<ExplainedLimit> limits{};
};

/// A policy that does not match, and the first condition that fails.
struct Mismatch {
  std::string id{};
  std::string fact{};
  std::vector<std::string> accepted{};
};

struct Explanation {
  Decision decision{};  // as a peek says
  std::vector<ExplainedPolicy> matched{};
  std::vector<Mismatch> others{};
};

}  // namespace dripgate::DRIPGATE_V1
