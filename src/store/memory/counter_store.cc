// See the header. Every answer is complete before `done` runs: no lock is held then.
#include "store/memory/counter_store.h"

#include <array>
#include <utility>

#include "base/limits.h"
#include "store/counter_calls.h"
#include "store/memory/stores.h"

namespace dripgate::store {
namespace {

/// Charges with their keys as fingerprints. They point into the request, which must outlive them.
class Fingerprinted {
 public:
  Fingerprinted(const CounterTable& table, const Charges& charges) {
    for (const Charge& charge : charges)
      charges_[count_++] = {
          .key = table.fingerprint(charge.key), .limit = &charge.limit, .cost = charge.cost};
  }
  [[nodiscard]] std::span<const TableCharge> get() const { return {charges_.data(), count_}; }

 private:
  std::array<TableCharge, kChargesPerRequestMax> charges_;
  std::size_t count_ = 0;
};

static_assert(kCounterUnitsMax <= CounterSlots::kUnitsMax,
              "a slot holds every number that a charge may carry");

}  // namespace

void MemoryCounterStore::consume(Charges charges, Done<core::Decision> done) {
  done(take(charges));
}

void MemoryCounterStore::peek(Charges charges, Done<core::Decision> done) {
  done(look(charges));
}

void MemoryCounterStore::refund(Refund refund, Done<bool> done) {
  done(give_back(refund));
}

void MemoryCounterStore::reset(std::string key, Done<void> done) {
  auto valid = calls::check_key(key);
  if (valid) table_.reset(table_.fingerprint(key));
  done(std::move(valid));
}

void MemoryCounterStore::inspect(Charge charge, Done<CounterView> done) {
  charge.cost = 0;
  done(view({std::move(charge)}));
}

Result<WallTime> MemoryCounterStore::admit(const Charges& charges) {
  if (auto valid = calls::check(charges); !valid) return std::unexpected(std::move(valid).error());
  return clock_.now();
}

Result<core::Decision> MemoryCounterStore::take(const Charges& charges) {
  if (charges.size() == 1) return take_one(charges);
  const auto now = admit(charges);
  if (!now) return std::unexpected(now.error());
  return table_.consume(Fingerprinted(table_, charges).get(), *now);
}

Result<core::Decision> MemoryCounterStore::take_one(const Charges& charges) {
  const Charge& only = charges.front();
  const Fingerprint key = table_.fingerprint(only.key);
  table_.prefetch(key);           // comes from memory while the charge is checked and the clock read
  Result<core::Decision> answer;  // the one object that every way out returns: made in its place
  if (const auto now = admit(charges); !now) {
    answer = std::unexpected(now.error());
  } else if (const auto outcome =
                 table_.consume_one({.key = key, .limit = &only.limit, .cost = only.cost}, *now);
             !outcome) {
    answer = std::unexpected(outcome.error());
  } else {
    answer->verdict = outcome->verdict;
    answer->now = *now;
    answer->outcomes.push_back(*outcome);
  }
  return answer;
}

Result<core::Decision> MemoryCounterStore::look(const Charges& charges) {
  const auto now = admit(charges);
  if (!now) return std::unexpected(now.error());
  return table_.peek(Fingerprinted(table_, charges).get(), *now);
}

Result<bool> MemoryCounterStore::give_back(const Refund& refund) {
  if (auto valid = calls::check(refund); !valid) return std::unexpected(std::move(valid).error());
  const auto now = admit(refund.charges);
  if (!now) return std::unexpected(now.error());
  const std::uint64_t id = table_.fingerprint(refund.request_id);
  const std::lock_guard lock(refunds_mutex_);
  if (refunds_.holds(id, *now)) return false;
  if (refunds_.full())
    return fail(ErrorCode::full,
                "the memory store remembers " + std::to_string(kRefundIdsMax) +
                    " refunds, its most; the units stay spent",
                true);
  const WallTime expires = calls::refund_expiry(refund);
  if (expires > *now) refunds_.add(id, expires);
  return table_.refund(Fingerprinted(table_, refund.charges).get(), refund.consumed_at, *now);
}

Result<CounterView> MemoryCounterStore::view(Charges charges) {
  const auto now = admit(charges);
  if (!now) return std::unexpected(now.error());
  const Fingerprinted keys(table_, charges);
  const core::Decision decision = table_.peek(keys.get(), *now);
  return CounterView{.outcome = decision.outcomes.front(),
                     .exists = table_.knows(keys.get().front().key, *now)};
}

std::unique_ptr<CounterStore> make_memory_counter_store(Clock& clock, std::size_t keys_max) {
  return std::make_unique<MemoryCounterStore>(clock, keys_max);
}

}  // namespace dripgate::store
