#include "broker/pubsub/lease_keeper.h"

namespace dripgate::broker::pubsub {

Duration ElapsedTime::at(WallTime now) {
  elapsed_ += std::clamp(now - last_, Duration{0}, kStepMax);
  last_ = now;
  return elapsed_;
}

void LeaseKeeper::take(std::uint64_t token, Duration now) {
  const int seconds = floor_ == kExactlyOnceSecondsMin ? lease_seconds() : kLeaseSecondsMin;
  kept_[token] = {now, now + std::chrono::seconds{seconds}};
}

void LeaseKeeper::settle(std::uint64_t token, Duration now) {
  const auto kept = kept_.find(token);
  if (kept == kept_.end()) return;
  const Duration took = now - kept->second.received;
  if (samples_.size() < kHandlingSamples) {
    samples_.push_back(took);
  } else {
    samples_[next_sample_] = took;
    next_sample_ = (next_sample_ + 1) % kHandlingSamples;
  }
  kept_.erase(kept);
}

LeaseKeeper::Round LeaseKeeper::round(Duration now) {
  measure();
  Round round;
  const Duration length = std::chrono::seconds{lease_seconds()};
  const Duration grace = std::min(kLeaseGrace, length / 2);
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    auto& [token, lease] = *kept;
    if (now - lease.received >= handling_deadline_) {
      round.expired.push_back(token);
      kept = kept_.erase(kept);
      continue;
    }
    if (lease.ends - now <= grace) {
      round.extend.push_back(token);
      lease.ends = now + length;
    }
    ++kept;
  }
  return round;
}

// The 99th percentile of what was settled lately, in whole seconds.
void LeaseKeeper::measure() {
  if (samples_.empty()) return;
  std::vector<Duration> sorted = samples_;
  const auto p99 = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) * 99 / 100);
  std::nth_element(sorted.begin(), p99, sorted.end());
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*p99).count();
  seconds_ = static_cast<int>(std::clamp<std::int64_t>(seconds, kLeaseSecondsMin, kLeaseSecondsMax));
}

}  // namespace dripgate::broker::pubsub
