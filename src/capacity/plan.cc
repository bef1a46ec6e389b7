#include "capacity/plan.h"

#include <algorithm>
#include <cmath>

namespace dripgate::capacity {

ShardPlan shards_for(const Load& load, double redis_us_per_call, double bytes_per_key) {
  ShardPlan plan;
  plan.calls_per_second = load.calls_per_second();
  plan.calls_per_shard = kPlannedShare * 1e6 / redis_us_per_call;
  plan.shards =
      static_cast<std::size_t>(std::max(1.0, std::ceil(plan.calls_per_second / plan.calls_per_shard)));
  plan.bytes = static_cast<double>(load.keys) * bytes_per_key;
  plan.bytes_per_shard = plan.bytes / static_cast<double>(plan.shards);
  return plan;
}

}  // namespace dripgate::capacity
