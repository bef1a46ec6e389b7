// Inside of CounterTable, shared by its two source files: a shard and the ways a request can find no room.
#pragma once

#include "store/memory/counter_table.h"
#include "store/memory/spin_lock.h"

namespace dripgate::store {

/// A request is tried again this often after numbers of limits were swept.
inline constexpr int kAttemptsMax = 2;

inline std::unexpected<Error> full() {
  return fail(ErrorCode::full,
              "the memory store holds as many counters in use as it may; raise its bound or retry "
              "when some have run out",
              true);
}

inline std::unexpected<Error> too_many_limits() {
  return fail(ErrorCode::full,
              "the memory store's counters in use were written under " +
                  std::to_string(InternedLimits::kNumbersMax - 1) +
                  " different limits, the most it "
                  "can tell apart",
              true);
}

struct alignas(64) CounterTable::Shard {
  Shard(const InternedLimits& limits, std::size_t keys_max, unsigned skip_bits)
      : slots(limits, keys_max, skip_bits) {}

  SpinLock mutex;
  InternedLimits::Number recent = InternedLimits::kNone;  // the limit interned last
  CounterSlots slots;
};

}  // namespace dripgate::store
