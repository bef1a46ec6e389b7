// See the header.
#include "store/memory/counter_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

#include "core/token_bucket_math.h"
#include "core/window_counter_math.h"
#include "store/memory/counter_shard.h"

namespace dripgate::store {
namespace {

constexpr std::size_t kShardsMax = 64;
/// Below this many keys per shard a shard more saves no waiting.
constexpr std::size_t kKeysPerShardMin = 4096;
/// A shard may hold its share and this many standard deviations, so that keys_max keys fit however they fall.
constexpr double kShareDeviations = 6;
/// Lookups of a batch whose fetches start together, in a loop of nothing else: a fetch holds up what follows
/// it until its address is translated, and only fetches close to each other overlap their translations. More
/// than this at once, with as many under way, fill the processor's miss buffers.
constexpr std::size_t kFetchedTogether = 8;

unsigned shard_bits(std::size_t keys_max) {
  const std::size_t wanted = std::clamp<std::size_t>(keys_max / kKeysPerShardMin, 1, kShardsMax);
  return static_cast<unsigned>(std::bit_width(wanted) - 1);
}

bool takes(const core::LimitOutcome& outcome, const TableCharge& charge) {
  return outcome.verdict == core::Verdict::allow && charge.cost > 0;
}

std::size_t share_of(std::size_t keys_max, std::size_t shards) {
  if (shards == 1) return keys_max;
  const double share = static_cast<double>(keys_max) / static_cast<double>(shards);
  return static_cast<std::size_t>(share + kShareDeviations * std::sqrt(share)) + 1;
}

}  // namespace

CounterTable::CounterTable(std::size_t keys_max)
    : hash_key_(random_hash_key()), shard_bits_(shard_bits(keys_max)) {
  const std::size_t shards = std::size_t{1} << shard_bits_;
  for (std::size_t i = 0; i < shards; ++i)
    shards_.push_back(std::make_unique<Shard>(limits_, share_of(keys_max, shards), shard_bits_));
}

CounterTable::~CounterTable() = default;

std::size_t CounterTable::shard_number(Fingerprint key) const {
  return shard_bits_ == 0 ? 0 : key >> (64 - shard_bits_);
}

void CounterTable::prefetch(Fingerprint key) const {
  shards_[shard_number(key)]->slots.prefetch(key);
}

Result<core::LimitOutcome> CounterTable::consume_one(const TableCharge& charge, WallTime now) {
  core::LimitOutcome outcome;
  Recognised recent;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    switch (try_consume_one(charge, now, outcome, recent)) {
      case Tried::decided:
        return outcome;
      case Tried::no_room:
        return full();
      case Tried::no_number:
        sweep_limits();
    }
  }
  return too_many_limits();
}

std::size_t CounterTable::consume_each(std::span<const TableCharge> charges, WallTime now,
                                       std::span<core::LimitOutcome> outcomes) {
  const auto fetch = [&](std::size_t from) {
    const std::size_t to = std::min(from + kFetchedTogether, charges.size());
    for (std::size_t i = from; i < to; ++i) prefetch(charges[i].key);
  };
  fetch(0);
  Recognised recent;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (i % kFetchedTogether == 0) fetch(i + kFetchedTogether);
    if (try_consume_one(charges[i], now, outcomes[i], recent) == Tried::decided) continue;
    const auto outcome = consume_one(charges[i], now);
    if (!outcome) return i;
    outcomes[i] = *outcome;
  }
  return charges.size();
}

/// Under a shard's lock, which keeps numbers from being swept.
bool CounterTable::recognise(InternedLimits::Number number, const core::Limit& limit, WallTime now,
                             Recognised& recent) const {
  if (&limit == recent.limit && number == recent.number && recent.sweeps == sweeps_) return true;
  if (!limits_.is(number, limit)) return false;
  recent = {.limit = &limit, .number = number, .sweeps = sweeps_};
  if (limit.algorithm == core::Algorithm::fixed_window) recent.window = core::window_at(limit, now);
  return true;
}

[[gnu::always_inline]] inline CounterTable::Tried CounterTable::try_consume_one(const TableCharge& charge,
                                                                                WallTime now,
                                                                                core::LimitOutcome& outcome,
                                                                                Recognised& recent) {
  Shard& shard = *shards_[shard_number(charge.key)];
  const std::lock_guard lock(shard.mutex);
  CounterSlots::Slot* const slot = shard.slots.find(charge.key);
  const core::Limit& limit = *charge.limit;
  if (slot == nullptr || !recognise(slot->limit(), limit, now, recent) ||
      limit.algorithm == core::Algorithm::sliding_log)
    return try_consume_unpacked(shard, slot, charge, now, outcome);
  const core::PackedState before{from_us(slot->time), static_cast<std::int64_t>(slot->value())};
  const core::PackedState after =
      limit.algorithm == core::Algorithm::token_bucket
          ? core::token_bucket::evaluate_packed(before, limit, charge.cost, now, outcome)
          : core::window_counter::evaluate_packed(before, limit, recent.window, charge.cost, now, outcome);
  if (takes(outcome, charge)) CounterSlots::save(*slot, after, slot->limit());
  return Tried::decided;
}

/// A new key, a changed limit, or a log.
CounterTable::Tried CounterTable::try_consume_unpacked(Shard& shard, CounterSlots::Slot* slot,
                                                       const TableCharge& charge, WallTime now,
                                                       core::LimitOutcome& outcome) {
  core::CounterState state;
  if (slot != nullptr) shard.slots.load(*slot, state);
  const core::Step step = core::evaluate(state, *charge.limit, charge.cost, now);
  outcome = step.outcome;
  if (!takes(outcome, charge) && !core::adopt(state, *charge.limit, now)) {
    if (slot != nullptr) shard.slots.put_back(*slot, state);
    return Tried::decided;
  }
  InternedLimits::Number number = slot != nullptr ? slot->limit() : shard.recent;
  if (!limits_.is(number, *charge.limit)) number = shard.recent = limits_.intern(*charge.limit);
  if (number == InternedLimits::kNone) {
    if (slot != nullptr) shard.slots.put_back(*slot, state);
    return Tried::no_number;
  }
  if (slot == nullptr) slot = shard.slots.insert(charge.key, now);
  if (slot == nullptr) return Tried::no_room;
  if (takes(outcome, charge)) core::commit(state, *charge.limit, charge.cost, step);
  shard.slots.save(*slot, state, number);
  return Tried::decided;
}

bool CounterTable::refund(std::span<const TableCharge> charges, WallTime consumed_at, WallTime now) {
  bool given = false;
  for (const TableCharge& charge : charges) {
    Shard& shard = *shards_[shard_number(charge.key)];
    const std::lock_guard lock(shard.mutex);
    CounterSlots::Slot* slot = shard.slots.find(charge.key);
    if (slot == nullptr) continue;
    core::CounterState state;
    shard.slots.load(*slot, state);
    if (core::refund(state, *charge.limit, charge.cost, consumed_at, now)) given = true;
    if (state.exists) shard.slots.save(*slot, state, slot->limit());
  }
  return given;
}

void CounterTable::reset(Fingerprint key) {
  Shard& shard = *shards_[shard_number(key)];
  const std::lock_guard lock(shard.mutex);
  if (CounterSlots::Slot* slot = shard.slots.find(key)) shard.slots.clear(*slot);
}

bool CounterTable::knows(Fingerprint key, WallTime now) {
  Shard& shard = *shards_[shard_number(key)];
  const std::lock_guard lock(shard.mutex);
  const CounterSlots::Slot* slot = shard.slots.find(key);
  return slot != nullptr && shard.slots.runs_out_at(*slot) > now;
}

void CounterTable::sweep_limits() {
  std::vector<bool> used(InternedLimits::kNumbersMax);
  for (const auto& shard : shards_) shard->mutex.lock();
  for (const auto& shard : shards_) {
    shard->recent = InternedLimits::kNone;
    shard->slots.mark_limits(used);
  }
  limits_.sweep(used);
  ++sweeps_;
  for (const auto& shard : shards_) shard->mutex.unlock();
}

std::size_t CounterTable::bytes() {
  std::size_t sum = sizeof(*this) + InternedLimits::kNumbersMax * sizeof(void*);
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    sum += sizeof(Shard) - sizeof(CounterSlots) + shard->slots.bytes();
  }
  return sum;
}

std::size_t CounterTable::keys() {
  std::size_t sum = 0;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    sum += shard->slots.keys();
  }
  return sum;
}

}  // namespace dripgate::store
