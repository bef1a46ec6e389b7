// CounterSlots: the counters of one shard in open addressing, 24 bytes each, so that a lookup touches one
// cache line and seldom two. Used by memory/counter_table, always under the shard's lock.
//
// A state that has run out is as good as none: its slot is given to the next new key that passes by, and
// dropped when the table is rebuilt. Nothing else ever leaves.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/counter.h"
#include "store/memory/interned_limits.h"

namespace dripgate::store {

/// 0 marks an empty slot and stands for no key.
using Fingerprint = std::uint64_t;

class CounterSlots {
 public:
  struct Slot {
    Fingerprint fingerprint = 0;
    std::int64_t time = 0;
    std::uint64_t value : 48 = 0;                      // sliding log: index into logs_
    std::uint64_t limit : 16 = InternedLimits::kNone;  // written under; kNone: no state
  };
  static_assert(sizeof(Slot) == 24);
  /// Numbers of a limit must stay below: what a slot can hold.
  static constexpr core::Units kUnitsMax = (core::Units{1} << 48) - 1;

  /// `skip_bits`: upper bits of a fingerprint that all keys of this shard share.
  CounterSlots(const InternedLimits& limits, std::size_t keys_max, unsigned skip_bits);

  [[nodiscard]] Slot* find(Fingerprint key) {
    for (std::size_t i = home(key);; i = after(i)) {
      if (slots_[i].fingerprint == key) return &slots_[i];
      if (slots_[i].fingerprint == 0) return nullptr;
    }
  }
  /// A slot for a key that find does not know; null: full of states that still matter. Moves other slots.
  [[nodiscard]] Slot* insert(Fingerprint key, WallTime now);
  /// Makes sure that the next `keys` inserts succeed. Moves slots; may drop states that have run out.
  [[nodiscard]] bool reserve(std::size_t keys, WallTime now);

  /// The log, if there is one, moves into the state and must come back by `save` or `put_back`.
  void load(const Slot& slot, core::CounterState& state);
  void save(Slot& slot, core::CounterState& state, InternedLimits::Number limit);
  void put_back(Slot& slot, core::CounterState& state);
  /// Forgets the state; the slot stays and is the first to be given away.
  void clear(Slot& slot);

  /// From here on the slot holds nothing that matters.
  [[nodiscard]] WallTime runs_out_at(const Slot& slot) const;
  void mark_limits(std::vector<bool>& used) const;
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::size_t keys() const { return used_; }

 private:
  [[nodiscard]] std::size_t home(Fingerprint key) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::size_t>((Wide{key << skip_bits_} * capacity_) >> 64);
  }
  [[nodiscard]] std::size_t after(std::size_t i) const { return i + 1 == capacity_ ? 0 : i + 1; }
  [[nodiscard]] bool is_log(const Slot& slot) const;
  [[nodiscard]] std::size_t live_at(WallTime now);
  void rebuild(std::size_t capacity, WallTime now);
  [[nodiscard]] Slot* place(Fingerprint key, WallTime now);
  void free_log(Slot& slot);

  const InternedLimits& limits_;
  const std::size_t keys_max_;
  const unsigned skip_bits_;
  std::unique_ptr<Slot[]> slots_;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;  // slots that are not empty
  /// Full, and before this nothing runs out: the search for room is not repeated.
  WallTime full_until_ = kLongAgo;
  std::vector<core::RunLog> logs_;
  std::vector<std::uint32_t> free_logs_;
};

}  // namespace dripgate::store
