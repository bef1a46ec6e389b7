// LeaseKeeper: which deliveries need a longer lease now, and how long one should be. A lease is extended
// shortly before its end until the delivery is settled or its handling deadline is over. Pure: time is an
// argument, as it passes (ElapsedTime), not as a wall clock shows it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/time.h"

namespace dripgate::broker::pubsub {

using namespace std::chrono_literals;

/// Time that only goes on, of a clock that may be set: a step back counts as nothing, one ahead (or a process
/// that stood still) as kStepMax.
class ElapsedTime {
 public:
  explicit ElapsedTime(WallTime now) : last_(now) {}
  Duration at(WallTime now);

 private:
  static constexpr Duration kStepMax = 10s;
  WallTime last_;
  Duration elapsed_{};
};

// Lengths of a lease, in seconds, as the service takes them.
inline constexpr int kLeaseSecondsMin = 10;
inline constexpr int kLeaseSecondsMax = 600;
/// Exactly-once: an extension that fails there costs the delivery.
inline constexpr int kExactlyOnceSecondsMin = 60;
/// An extension is sent so long before the end of a lease, or at its half if that is later.
inline constexpr Duration kLeaseGrace = 5s;
/// Deliveries whose handling times are looked at.
inline constexpr std::size_t kHandlingSamples = 1000;

class LeaseKeeper {
 public:
  explicit LeaseKeeper(Duration handling_deadline) : handling_deadline_(handling_deadline) {}

  /// Begins now, and is taken for the shortest lease: a delivery may have been on its way when the streams
  /// heard of longer ones. Exactly-once: for lease_seconds(), which its receipt asks for.
  void take(std::uint64_t token, Duration now);
  /// Done with it: how long that took counts for later leases.
  void settle(std::uint64_t token, Duration now);
  void forget(std::uint64_t token) { kept_.erase(token); }

  struct Round {
    std::vector<std::uint64_t> extend;   // by lease_seconds() from now
    std::vector<std::uint64_t> expired;  // over their handling deadline: forgotten here
  };
  /// To be called at least every second.
  [[nodiscard]] Round round(Duration now);

  void exactly_once(bool on) { floor_ = on ? kExactlyOnceSecondsMin : kLeaseSecondsMin; }
  /// Of extensions, and told to the streams: what 99 of 100 deliveries were settled in, within the bounds.
  [[nodiscard]] int lease_seconds() const { return std::max(seconds_, floor_); }

 private:
  struct Kept {
    Duration received;
    Duration ends;
  };

  void measure();

  Duration handling_deadline_;
  std::unordered_map<std::uint64_t, Kept> kept_;
  std::vector<Duration> samples_;  // the latest, in no order
  std::size_t next_sample_ = 0;
  int seconds_ = kLeaseSecondsMin;
  int floor_ = kLeaseSecondsMin;
};

}  // namespace dripgate::broker::pubsub
