#include "drip/backoff.h"

#include <algorithm>
#include <cstdint>

namespace dripgate::drip {
namespace {

constexpr int kDoublingsMax = 40;    // beyond, every wait is at its upper bound anyway
constexpr int kJitterSteps = 1'000;  // resolution of the jitter

/// FNV-1a: spreads waits, guards nothing.
std::uint64_t spread(std::string_view text, int salt) {
  std::uint64_t hash = 14695981039346656037u + static_cast<std::uint64_t>(salt);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash ^ (hash >> 29);
}

}  // namespace

Duration doubled(Duration first, int doublings, Duration most) {
  const int shift = std::clamp(doublings, 0, kDoublingsMax);
  return first > most / (std::int64_t{1} << shift) ? most : first * (std::int64_t{1} << shift);
}

Duration retry_wait(std::string_view event_id, int failures) {
  const Duration nominal = doubled(kRetryWaitMin, failures - 1, kRetryWaitMax);
  const auto part = static_cast<std::int64_t>(spread(event_id, failures) % kJitterSteps);
  return nominal / 2 + nominal / 2 * part / kJitterSteps;
}

Duration deferral_wait(Duration asked, int deferrals) {
  return std::min(std::max(asked, doubled(kDeferralMin, deferrals, kDeferralMax)), kDeferralMax);
}

}  // namespace dripgate::drip
