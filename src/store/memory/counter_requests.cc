// CounterTable: requests over several keys. Their shards are locked in one order; the states come out of
// their slots, core decides over copies, and what changed goes back.
#include <algorithm>
#include <array>

#include "base/limits.h"
#include "store/memory/counter_shard.h"

namespace dripgate::store {

/// The shards of a request, locked in ascending order; unlocked at the end of the scope.
class CounterTable::Locks {
 public:
  Locks(CounterTable& table, std::span<const TableCharge> charges) : table_(table) {
    for (const TableCharge& charge : charges) numbers_[count_++] = table.shard_number(charge.key);
    std::sort(numbers_.begin(), end());
    count_ = static_cast<std::size_t>(std::unique(numbers_.begin(), end()) - numbers_.begin());
    for (std::size_t i = 0; i < count_; ++i) table_.shards_[numbers_[i]]->mutex.lock();
  }
  ~Locks() {
    for (std::size_t i = 0; i < count_; ++i) table_.shards_[numbers_[i]]->mutex.unlock();
  }
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

 private:
  using Numbers = std::array<std::size_t, kChargesPerRequestMax>;
  Numbers::iterator end() { return numbers_.begin() + static_cast<std::ptrdiff_t>(count_); }

  CounterTable& table_;
  Numbers numbers_{};
  std::size_t count_ = 0;
};

/// The states of a request, one per different key, out of their slots.
struct CounterTable::Loaded {
  struct One {
    Fingerprint key = 0;
    const core::Limit* limit = nullptr;
    InternedLimits::Number number = InternedLimits::kNone;
    bool known = false;
    core::CounterState state;
  };
  std::vector<One> ones;  // never grows beyond its first capacity: items point into it
  std::vector<core::CheckItem> items;
};

Result<core::Decision> CounterTable::consume(std::span<const TableCharge> charges, WallTime now) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    if (auto decision = try_consume(charges, now)) return *std::move(decision);
    sweep_limits();
  }
  return too_many_limits();
}

std::optional<Result<core::Decision>> CounterTable::try_consume(std::span<const TableCharge> charges,
                                                                WallTime now) {
  const Locks locks(*this, charges);
  Loaded loaded;
  load(charges, loaded);
  // Whatever can fail comes first: after core::consume everything is written.
  const bool numbered = number(loaded);
  if (!numbered || !make_room(loaded, now)) {
    core::Decision decision = core::peek(loaded.items, now);
    put_back(loaded);
    if (decision.verdict != core::Verdict::allow) return decision;
    if (!numbered) return std::nullopt;
    return full();
  }
  core::Decision decision = core::consume(loaded.items, now);
  save(loaded, now);
  return decision;
}

core::Decision CounterTable::peek(std::span<const TableCharge> charges, WallTime now) {
  const Locks locks(*this, charges);
  Loaded loaded;
  load(charges, loaded);
  core::Decision decision = core::peek(loaded.items, now);
  put_back(loaded);
  return decision;
}

void CounterTable::load(std::span<const TableCharge> charges, Loaded& loaded) {
  loaded.ones.reserve(charges.size());
  loaded.items.reserve(charges.size());
  for (const TableCharge& charge : charges) {
    auto one = std::find_if(loaded.ones.begin(), loaded.ones.end(),
                            [&](const Loaded::One& known) { return known.key == charge.key; });
    if (one == loaded.ones.end()) {
      one = loaded.ones.insert(loaded.ones.end(),
                               Loaded::One{.key = charge.key, .limit = charge.limit, .state = {}});
      CounterSlots& slots = shards_[shard_number(charge.key)]->slots;
      if (const CounterSlots::Slot* slot = slots.find(charge.key)) {
        one->known = true;
        slots.load(*slot, one->state);
      }
    }
    loaded.items.push_back({.state = &one->state, .limit = charge.limit, .cost = charge.cost});
  }
}

void CounterTable::put_back(Loaded& loaded) {
  for (Loaded::One& one : loaded.ones) {
    CounterSlots& slots = shards_[shard_number(one.key)]->slots;
    CounterSlots::Slot* slot = one.state.exists ? slots.find(one.key) : nullptr;
    if (slot != nullptr) slots.put_back(*slot, one.state);
  }
}

bool CounterTable::number(Loaded& loaded) {
  for (Loaded::One& one : loaded.ones) {
    Shard& shard = *shards_[shard_number(one.key)];
    if (!limits_.is(shard.recent, *one.limit)) shard.recent = limits_.intern(*one.limit);
    one.number = shard.recent;
    if (one.number == InternedLimits::kNone) return false;
  }
  return true;
}

/// Making room drops what has run out, which may be a key of this very request: then it counts as new, once
/// more.
bool CounterTable::make_room(Loaded& loaded, WallTime now) {
  const auto new_keys = [&](std::size_t shard) {
    return std::count_if(loaded.ones.begin(), loaded.ones.end(), [&](const Loaded::One& one) {
      return shard_number(one.key) == shard && shards_[shard]->slots.find(one.key) == nullptr;
    });
  };
  for (const Loaded::One& one : loaded.ones) {
    if (one.known) continue;
    const std::size_t shard = shard_number(one.key);
    for (std::ptrdiff_t asked = 0, keys = new_keys(shard); keys > asked; keys = new_keys(shard)) {
      asked = keys;
      if (!shards_[shard]->slots.reserve(static_cast<std::size_t>(keys), now)) return false;
    }
  }
  return true;
}

void CounterTable::save(Loaded& loaded, WallTime now) {
  for (Loaded::One& one : loaded.ones) {
    if (!one.state.exists) continue;  // nothing was taken from a new key
    CounterSlots& slots = shards_[shard_number(one.key)]->slots;
    CounterSlots::Slot* slot = slots.find(one.key);
    if (core::written_under(*one.limit) == one.state.written) {
      if (slot == nullptr) slot = slots.insert(one.key, now);
      slots.save(*slot, one.state, one.number);
    } else if (slot != nullptr) {  // unchanged
      slots.put_back(*slot, one.state);
    }
  }
}

}  // namespace dripgate::store
