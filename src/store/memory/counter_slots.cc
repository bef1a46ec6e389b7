// See the header.
#include "store/memory/counter_slots.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace dripgate::store {
namespace {

constexpr std::size_t kCapacityMin = 16;
/// Of 100 slots at most this many in use: longer chains than that cost more than the memory is worth.
constexpr std::size_t kLoadPercentMax = 70;
/// A table grows by this; rather a rebuild more than half of it empty.
constexpr std::size_t kGrowthPercent = 115;
/// A rebuild that frees at least this part of the keys does not grow the table.
constexpr std::size_t kWorthwhilePercent = 15;

/// Slots looked at by one search for room, at least.
constexpr std::size_t kSweepMin = 256;

std::size_t keys_of(std::size_t capacity) {
  return capacity * kLoadPercentMax / 100;
}
std::size_t capacity_for(std::size_t keys) {
  return keys * 100 / kLoadPercentMax + 2;
}

}  // namespace

CounterSlots::CounterSlots(const InternedLimits& limits, std::size_t keys_max, unsigned skip_bits)
    : skip_bits_(skip_bits),
      slots_(new Slot[kCapacityMin]),
      capacity_(kCapacityMin),
      limits_(limits),
      keys_max_(std::max<std::size_t>(keys_max, 1)) {}

CounterSlots::~CounterSlots() {
  delete[] array();
}

CounterSlots::Slot* CounterSlots::insert(Fingerprint key, WallTime now) {
  if (Slot* given = place(key, now)) return given;
  return reserve(1, now) ? place(key, now) : nullptr;
}

/// In the key's chain: the first slot that has run out, else the empty one at its end if there is room.
CounterSlots::Slot* CounterSlots::place(Fingerprint key, WallTime now) {
  for (std::size_t i = home(key);; i = after(i)) {
    Slot& slot = array()[i];
    if (slot.fingerprint == 0) {
      if (used_ >= std::min(keys_max_, keys_of(capacity()))) return nullptr;
      ++used_;
    } else if (runs_out_at(slot) > now) {
      continue;
    } else {
      clear(slot);
    }
    slot.fingerprint = key;
    full_until_ = kLongAgo;
    return &slot;
  }
}

bool CounterSlots::reserve(std::size_t keys, WallTime now) {
  if (used_ + keys <= std::min(keys_max_, keys_of(capacity()))) return true;
  if (keys_of(capacity()) >= keys_max_) return sweep(keys, now);
  const std::size_t live = live_at(now);
  const bool enough =
      live + keys <= keys_of(capacity()) && (used_ - live) * 100 >= used_ * kWorthwhilePercent;
  const std::size_t grown = std::max(capacity() * kGrowthPercent / 100, capacity_for(live + keys));
  const std::size_t largest = std::max(capacity_for(keys_max_), kCapacityMin);
  rebuild(enough ? capacity() : std::min(grown, largest), now);
  return used_ + keys <= keys_max_ || sweep(keys, now);
}

/// At its largest the table is searched for states that have run out, on from where the last search ended,
/// until there is room; a little further each time, so that the next key seldom has to search.
bool CounterSlots::sweep(std::size_t keys, WallTime now) {
  if (now < full_until_) return false;
  WallTime first = kNeverEnds;
  for (std::size_t looks = 0; looks < capacity(); ++looks) {
    if (looks >= kSweepMin && used_ + keys <= keys_max_) return true;
    if (hand_ >= capacity()) hand_ = 0;
    const Slot& slot = array()[hand_];
    const WallTime end = slot.fingerprint == 0 ? kNeverEnds : runs_out_at(slot);
    if (end <= now) {
      erase(hand_);  // what moved here is looked at next
    } else {
      first = std::min(first, end);
      ++hand_;
    }
  }
  const bool room = used_ + keys <= keys_max_;
  if (!room) full_until_ = first;
  return room;
}

/// Later keys of the chain move up, so that no gap cuts them off from their home.
void CounterSlots::erase(std::size_t gap) {
  free_log(array()[gap]);
  for (std::size_t i = after(gap); array()[i].fingerprint != 0; i = after(i)) {
    const std::size_t from = home(array()[i].fingerprint);
    const bool reaches_over_gap = gap <= i ? from <= gap || from > i : from <= gap && from > i;
    if (!reaches_over_gap) continue;
    array()[gap] = array()[i];
    gap = i;
  }
  array()[gap] = Slot{};
  --used_;
}

std::size_t CounterSlots::live_at(WallTime now) const {
  std::size_t live = 0;
  for (std::size_t i = 0; i < capacity(); ++i)
    live += array()[i].fingerprint != 0 && runs_out_at(array()[i]) > now;
  return live;
}

void CounterSlots::rebuild(std::size_t wanted, WallTime now) {
  const std::unique_ptr<Slot[]> old(slots_.exchange(new Slot[wanted], std::memory_order_relaxed));
  const std::size_t old_capacity = capacity_.exchange(wanted, std::memory_order_relaxed);
  used_ = 0;
  for (std::size_t i = 0; i < old_capacity; ++i) {
    if (old[i].fingerprint == 0) continue;
    if (runs_out_at(old[i]) <= now) {
      free_log(old[i]);
      continue;
    }
    std::size_t to = home(old[i].fingerprint);
    while (array()[to].fingerprint != 0) to = after(to);
    array()[to] = old[i];
    ++used_;
  }
}

void CounterSlots::load(const Slot& slot, core::CounterState& state) {
  state.exists = slot.limit() != InternedLimits::kNone;
  if (!state.exists) return;
  state.written = core::written_under(limits_.at(slot.limit()));
  state.time = from_us(slot.time);
  if (state.written.algorithm == core::Algorithm::sliding_log) {
    state.log = std::move(logs_[slot.value()]);
  } else {
    state.value = static_cast<std::int64_t>(slot.value());
  }
}

void CounterSlots::save(Slot& slot, core::CounterState& state, InternedLimits::Number limit) {
  const bool logs = state.written.algorithm == core::Algorithm::sliding_log;
  if (is_log(slot) && !logs) free_log(slot);
  std::uint64_t value = static_cast<std::uint64_t>(state.value);
  if (logs) {
    value = is_log(slot) ? slot.value() : new_log();
    logs_[value] = std::move(state.log);
  }
  slot.time = to_us(state.time);
  slot.set(value, limit);
  if (full_until_ != kLongAgo) full_until_ = std::min(full_until_, runs_out_at(slot));
}

std::uint32_t CounterSlots::new_log() {
  if (free_logs_.empty()) {
    free_logs_.push_back(static_cast<std::uint32_t>(logs_.size()));
    logs_.emplace_back();
  }
  const std::uint32_t index = free_logs_.back();
  free_logs_.pop_back();
  return index;
}

void CounterSlots::put_back(Slot& slot, core::CounterState& state) {
  if (is_log(slot)) logs_[slot.value()] = std::move(state.log);
}

void CounterSlots::clear(Slot& slot) {
  free_log(slot);
  slot.word = 0;
  full_until_ = kLongAgo;
}

void CounterSlots::free_log(Slot& slot) {
  if (!is_log(slot)) return;
  logs_[slot.value()] = core::RunLog{};
  free_logs_.push_back(static_cast<std::uint32_t>(slot.value()));
}

bool CounterSlots::is_log(const Slot& slot) const {
  return slot.limit() != InternedLimits::kNone &&
         limits_.at(slot.limit()).algorithm == core::Algorithm::sliding_log;
}

WallTime CounterSlots::runs_out_at(const Slot& slot) const {
  if (slot.limit() == InternedLimits::kNone) return kLongAgo;
  const core::PackedState state{from_us(slot.time), static_cast<std::int64_t>(slot.value())};
  return core::forgettable_at(state, limits_.at(slot.limit()));
}

void CounterSlots::mark_limits(std::vector<bool>& used) const {
  for (std::size_t i = 0; i < capacity(); ++i) used[array()[i].limit()] = true;
}

std::size_t CounterSlots::bytes() const {
  return sizeof(*this) + capacity() * sizeof(Slot) + logs_.capacity() * sizeof(core::RunLog) +
         free_logs_.capacity() * sizeof(std::uint32_t);
}

}  // namespace dripgate::store
