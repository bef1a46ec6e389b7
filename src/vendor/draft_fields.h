// The RateLimit fields of the IETF draft in all their forms (polli and ietf -00 to -11). Pure. Used by
// answer_reader. A malformed field is dropped as a whole.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace dripgate::vendor {

/// One item of a RateLimit or RateLimit-Policy list of draft -08 and later, or the only one of the older
/// forms.
struct DraftLimit {
  std::string name;                       // of the policy; empty: the older forms have none
  std::optional<std::int64_t> quota;      // q, limit
  std::optional<std::int64_t> remaining;  // r, remaining
  std::optional<Duration> reset;          // t, reset
  std::optional<Duration> window;         // w
  std::string unit{};                     // qu; empty: requests
};

/// `RateLimit`: a list ("daily";r=100;t=36000) or a dictionary (limit=100, remaining=50, reset=5). Empty:
/// neither.
[[nodiscard]] std::optional<std::vector<DraftLimit>> read_ratelimit(std::string_view field);
/// `RateLimit-Policy`: a list of names (-08 and later) or of quotas (100;w=10).
[[nodiscard]] std::optional<std::vector<DraftLimit>> read_ratelimit_policy(std::string_view field);
/// `RateLimit-Limit`: 100, or with its windows "10, 10;w=1, 50;w=60": the first number and the window of its
/// equal.
[[nodiscard]] std::optional<DraftLimit> read_ratelimit_limit(std::string_view field);

}  // namespace dripgate::vendor
