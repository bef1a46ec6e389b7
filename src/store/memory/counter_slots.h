// CounterSlots: the counters of one shard in open addressing, 24 bytes each, so that a lookup touches one
// cache line and seldom two. Used by memory/counter_table, always under the shard's lock.
//
// A state that has run out is as good as none: its slot is given to the next new key that passes by, and
// dropped when the table is rebuilt. Nothing else ever leaves.
#pragma once

#include <atomic>
#include <cstdint>
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
    /// 48 bits of value (sliding log: index into logs_), then 16 of the limit that it was written under
    /// (kNone: no state). One word by hand: two fields are two stores, and the load after them would wait for
    /// both.
    std::uint64_t word = 0;

    [[nodiscard]] std::uint64_t value() const { return word >> 16; }
    [[nodiscard]] InternedLimits::Number limit() const { return static_cast<InternedLimits::Number>(word); }
    void set(std::uint64_t value, InternedLimits::Number limit) { word = value << 16 | limit; }
  };
  static_assert(sizeof(Slot) == 24);
  /// Numbers of a limit must stay below: what a slot can hold.
  static constexpr core::Units kUnitsMax = (core::Units{1} << 48) - 1;

  /// `skip_bits`: upper bits of a fingerprint that all keys of this shard share.
  CounterSlots(const InternedLimits& limits, std::size_t keys_max, unsigned skip_bits);
  ~CounterSlots();
  CounterSlots(const CounterSlots&) = delete;
  CounterSlots& operator=(const CounterSlots&) = delete;

  /// Needs no lock: an address that a rebuild has just made stale costs a useless fetch. Chains often reach
  /// into the next cache line.
  void prefetch(Fingerprint key) const {
    const Slot* const first = array() + place_in(key, capacity());
    __builtin_prefetch(first, 1);
    __builtin_prefetch(first + 2, 1);
  }
  [[nodiscard]] Slot* find(Fingerprint key) {
    Slot* const slots = array();
    const std::size_t capacity = this->capacity();
    for (std::size_t i = place_in(key, capacity);; i = i + 1 == capacity ? 0 : i + 1) {
      if (slots[i].fingerprint == key) return &slots[i];
      if (slots[i].fingerprint == 0) return nullptr;
    }
  }
  /// A slot for a key that find does not know; null: full of states that still matter. Moves other slots.
  [[nodiscard]] Slot* insert(Fingerprint key, WallTime now);
  /// Makes sure that the next `keys` inserts succeed. Moves slots; may drop states that have run out.
  [[nodiscard]] bool reserve(std::size_t keys, WallTime now);

  /// Of a bucket or a window.
  static void save(Slot& slot, const core::PackedState& state, InternedLimits::Number limit) {
    slot.time = to_us(state.time);
    slot.set(static_cast<std::uint64_t>(state.value), limit);
  }
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
  [[nodiscard]] std::size_t place_in(Fingerprint key, std::size_t capacity) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::size_t>((Wide{key << skip_bits_} * capacity) >> 64);
  }
  [[nodiscard]] std::size_t home(Fingerprint key) const { return place_in(key, capacity()); }
  // Atomic only for prefetch, which reads them without the lock.
  [[nodiscard]] Slot* array() const { return slots_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t capacity() const { return capacity_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t after(std::size_t i) const { return i + 1 == capacity() ? 0 : i + 1; }
  [[nodiscard]] bool is_log(const Slot& slot) const;
  [[nodiscard]] std::size_t live_at(WallTime now) const;
  [[nodiscard]] bool sweep(std::size_t keys, WallTime now);
  void erase(std::size_t gap);
  void rebuild(std::size_t wanted, WallTime now);
  [[nodiscard]] Slot* place(Fingerprint key, WallTime now);
  [[nodiscard]] std::uint32_t new_log();
  void free_log(Slot& slot);

  // What a lookup reads first: one cache line together with the shard's lock.
  const unsigned skip_bits_;
  std::atomic<Slot*> slots_;
  std::atomic<std::size_t> capacity_;
  const InternedLimits& limits_;
  const std::size_t keys_max_;
  std::size_t used_ = 0;  // slots that are not empty
  /// Full, and before this nothing runs out: the search for room is not repeated.
  WallTime full_until_ = kLongAgo;
  std::size_t hand_ = 0;  // where the search for room goes on
  std::vector<core::RunLog> logs_;
  std::vector<std::uint32_t> free_logs_;
};

}  // namespace dripgate::store
