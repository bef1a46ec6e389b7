// NodeClocks: the latest time that this process has seen from each primary. Every call carries it, so that a
// clock which steps back is held for keys that were never seen, too; what a key itself has seen is in its
// text. Single-threaded.
#pragma once

#include <algorithm>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/check.h"

namespace dripgate::store {

class NodeClocks {
 public:
  /// kLongAgo: nothing seen yet.
  [[nodiscard]] WallTime latest(std::size_t shard) const {
    return shard < latest_.size() ? latest_[shard] : kLongAgo;
  }
  /// What a script that was called with `floor` took as now when Redis said `time`. Error:
  /// clock_stepped_back.
  [[nodiscard]] Result<WallTime> now(std::size_t shard, WallTime floor, WallTime time) {
    auto held = core::clamp_clock(floor, time);
    if (!held) return held;
    if (shard >= latest_.size()) latest_.resize(shard + 1, kLongAgo);
    latest_[shard] = std::max(latest_[shard], *held);
    return held;
  }

 private:
  std::vector<WallTime> latest_;
};

}  // namespace dripgate::store
