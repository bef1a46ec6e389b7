// CounterTable: counters by fingerprint in shards, each with its lock; requests over several keys lock their
// shards in one order and take all or nothing. Time is given. Used by memory/counter_store and bench/.
// Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/keyed_hash.h"
#include "core/check.h"
#include "core/fixed_window.h"
#include "store/memory/counter_slots.h"

namespace dripgate::store {

struct TableCharge {
  Fingerprint key = 0;
  const core::Limit* limit = nullptr;
  core::Units cost = 1;
};

class CounterTable {
 public:
  explicit CounterTable(std::size_t keys_max);
  ~CounterTable();
  CounterTable(const CounterTable&) = delete;
  CounterTable& operator=(const CounterTable&) = delete;

  /// Of 64 secret-keyed bits; two keys of 4,000,000 share one with a chance below 10^-6.
  [[nodiscard]] Fingerprint fingerprint(std::string_view key) const {
    const Fingerprint hash = keyed_hash(hash_key_, key);
    return hash == 0 ? 1 : hash;
  }

  /// Starts fetching a counter that is about to be asked for.
  void prefetch(Fingerprint key) const;

  /// As `consume` of one charge, without a Decision around it. Error: full, and nothing was taken.
  [[nodiscard]] Result<core::LimitOutcome> consume_one(const TableCharge& charge, WallTime now);
  /// Independent requests of one charge each, in order, each as consume_one: their lookups overlap, which
  /// costs a fraction of asking one by one where the table is larger than the cache. Returns how many were
  /// decided; the next one found the table full.
  std::size_t consume_each(std::span<const TableCharge> charges, WallTime now,
                           std::span<core::LimitOutcome> outcomes);
  /// At most kChargesPerRequestMax charges. Error: full, and nothing was taken.
  [[nodiscard]] Result<core::Decision> consume(std::span<const TableCharge> charges, WallTime now);
  [[nodiscard]] core::Decision peek(std::span<const TableCharge> charges, WallTime now);
  /// True: at least one charge gave something back.
  bool refund(std::span<const TableCharge> charges, WallTime consumed_at, WallTime now);
  void reset(Fingerprint key);
  /// False: never used, or run out.
  [[nodiscard]] bool knows(Fingerprint key, WallTime now);

  /// All that the table holds, but the entries of sliding logs.
  [[nodiscard]] std::size_t bytes();
  [[nodiscard]] std::size_t keys();

 private:
  struct Shard;
  class Locks;
  struct Loaded;

  [[nodiscard]] std::size_t shard_number(Fingerprint key) const;
  /// no_number: there is none left for a limit; sweep and try again. Only `decided` may have taken something.
  enum class Tried : std::uint8_t { decided, no_room, no_number };
  /// The limit seen last in a batch, its number and its window: most of a batch is under one, and a batch has
  /// one `now`.
  struct Recognised {
    const core::Limit* limit = nullptr;
    InternedLimits::Number number = InternedLimits::kNone;
    std::uint64_t sweeps = 0;
    core::Window window{};  // fixed window: the one that holds now
  };
  [[nodiscard]] bool recognise(InternedLimits::Number number, const core::Limit& limit, WallTime now,
                               Recognised& recent) const;
  [[nodiscard]] Tried try_consume_one(const TableCharge& charge, WallTime now, core::LimitOutcome& outcome,
                                      Recognised& recent);
  [[nodiscard]] Tried try_consume_unpacked(Shard& shard, CounterSlots::Slot* slot, const TableCharge& charge,
                                           WallTime now, core::LimitOutcome& outcome);
  /// Empty: no_number.
  [[nodiscard]] std::optional<Result<core::Decision>> try_consume(std::span<const TableCharge> charges,
                                                                  WallTime now);
  void load(std::span<const TableCharge> charges, Loaded& loaded);
  void put_back(Loaded& loaded);
  [[nodiscard]] bool number(Loaded& loaded);
  [[nodiscard]] bool make_room(Loaded& loaded, WallTime now);
  void save(Loaded& loaded, WallTime now);
  /// Locks every shard: call it with none locked.
  void sweep_limits();

  const HashKey hash_key_;
  InternedLimits limits_;
  unsigned shard_bits_ = 0;
  std::uint64_t sweeps_ = 0;  // changes with every shard locked
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace dripgate::store
