// Decision: the full answer to one check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <absl/container/inlined_vector.h>

#include "core/limit.h"

namespace dripgate::core {

enum class Verdict : std::uint8_t {
  allow,
  deny,
  impossible,  // the cost is above what the limit can ever hold: no retry_after
};

/// What a policy asks for while the store does not answer: this process' share, allow, or deny as
/// unavailable.
enum class FailureMode : std::uint8_t { local, open, closed };

/// reset_after of a bucket that never refills.
inline constexpr Duration kNeverResets = Duration::max();

/// What one limit says about one request.
struct LimitOutcome {
  Verdict verdict = Verdict::allow;
  std::optional<FailureMode> degraded{};  // what decided in place of the store; empty: the store did
  bool has_numbers = true;  // false: what follows says nothing (open, closed, never asked or given back)
  Units remaining = 0;      // whole units left after the decision, in [0, limit], rounded down
  Duration reset_after{};   // until full (bucket, log: rounded up to 1 us) or the window's end
  std::optional<Duration> retry_after;  // denied: exact wait after which the same request can pass; empty:
                                        // never (local: never within the share)
};

/// Requests of up to this many charges are asked and answered without memory of their own.
inline constexpr std::size_t kChargesInPlace = 2;
using LimitOutcomes = absl::InlinedVector<LimitOutcome, kChargesInPlace>;

/// All-or-nothing over every charge of the request.
struct Decision {
  Verdict verdict = Verdict::allow;
  std::size_t decisive =
      0;         // index of the charge that refused (the longest wait), else the one nearest to exhaustion
  WallTime now;  // the store's clock at the decision; of several shards the earliest, for refunds
  LimitOutcomes outcomes;  // one per charge, in request order

  /// Refused because the store is away and a policy is closed: 503, not 429. The decisive outcome says so.
  [[nodiscard]] bool unavailable() const {
    return decisive < outcomes.size() && outcomes[decisive].degraded == FailureMode::closed;
  }
  /// Of the charges that the store did not decide: closed before local before open. Empty: it decided all.
  [[nodiscard]] std::optional<FailureMode> degraded() const;
};

}  // namespace dripgate::core
