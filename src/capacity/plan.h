// How many shards a load needs, from what one call costs a Redis. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dripgate::capacity {

/// A shard is planned for this part of what its command thread could do: at that load its latency is still
/// that of an idle one, and what comes in bursts, a failover or a slower neighbour has room.
inline constexpr double kPlannedShare = 0.5;

/// What the shards are asked to carry: the default is the load of the original design.
struct Load {
  std::int64_t instances = 50;
  std::int64_t requests_per_second = 50'000;  // of all instances
  double checks_per_request = 1.5;            // each a call of its own, though those of one scope share one
  std::int64_t keys = 2'000'000;              // alive at once: those of an hour

  [[nodiscard]] double calls_per_second() const {
    return static_cast<double>(requests_per_second) * checks_per_request;
  }
};

struct ShardPlan {
  double calls_per_second = 0;
  double calls_per_shard = 0;  // what one shard is planned for
  std::size_t shards = 0;
  double bytes = 0;  // of all keys
  double bytes_per_shard = 0;
};

/// `redis_us_per_call`: CPU of the command thread where calls come densest, above 0. At low loads a call
/// costs more, as it shares its read and its write with none; a shard that fills up does not stay there.
[[nodiscard]] ShardPlan shards_for(const Load& load, double redis_us_per_call, double bytes_per_key);

}  // namespace dripgate::capacity
