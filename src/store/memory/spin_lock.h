// SpinLock: for the few dozen instructions of one counter. Unlocking is a plain store, where std::mutex pays
// a second locked instruction that stalls until every store before it has reached the cache. Whoever finds it
// taken for longer gives the processor away: its holder may be waiting for one. Used by memory/counter_table.
#pragma once

#include <atomic>

#include <sched.h>

namespace dripgate::store {

/// Looks at a taken lock before the processor is given away.
inline constexpr int kSpinsMax = 64;

class SpinLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  void wait() const {
    for (int spins = 0; taken_.load(std::memory_order_relaxed); ++spins) {
      if (spins >= kSpinsMax) sched_yield();
    }
  }

  std::atomic<bool> taken_{false};
};

}  // namespace dripgate::store
