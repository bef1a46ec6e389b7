// InternedLimits: every distinct limit once, under a 16-bit number, so that a counter's slot names the limit
// it was written under in two bytes. Used by memory/counter_table.
//
// Threads: intern and sweep lock. `at` does not: a number is read from a slot, under the lock of the slot's
// shard, and a limit leaves only in sweep, which the table calls with every shard locked.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/limit.h"

namespace dripgate::store {

class InternedLimits {
 public:
  using Number = std::uint16_t;
  static constexpr Number kNone = 0;
  static constexpr std::size_t kNumbersMax = 1 << 16;

  InternedLimits();

  /// kNone: every number is in use; sweep may free some.
  [[nodiscard]] Number intern(const core::Limit& limit);
  [[nodiscard]] const core::Limit& at(Number number) const { return *limits_[number]; }
  /// True: `number` already stands for exactly this limit.
  [[nodiscard]] bool is(Number number, const core::Limit& limit) const {
    return number != kNone && same(at(number), limit);
  }
  /// Forgets every limit whose number is not in `used`.
  void sweep(const std::vector<bool>& used);

 private:
  static bool same(const core::Limit& a, const core::Limit& b) {
    return a.algorithm == b.algorithm && a.limit == b.limit && a.window == b.window &&
           a.capacity == b.capacity && a.zone == b.zone;
  }
  struct Hash {
    std::size_t operator()(const core::Limit& limit) const;
  };
  struct Equal {
    bool operator()(const core::Limit& a, const core::Limit& b) const { return same(a, b); }
  };

  std::mutex mutex_;
  std::vector<std::unique_ptr<const core::Limit>> limits_;  // by number; never moves
  std::unordered_map<core::Limit, Number, Hash, Equal> numbers_;
  std::vector<Number> free_;
  std::size_t next_ = 1;
};

}  // namespace dripgate::store
