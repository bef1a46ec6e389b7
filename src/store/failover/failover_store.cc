#include "store/failover/failover_store.h"

#include <algorithm>
#include <utility>

#include "base/keyed_hash.h"
#include "base/limits.h"
#include "store/counter_calls.h"
#include "store/failover/failover_call.h"
#include "store/failover/failover_refund.h"

namespace dripgate::store {

FailoverStore::FailoverStore(CounterStore& store, ShardOf shard_of, LocalCounters& local, Executor& executor,
                             const Clock& clock, core::BreakerSettings settings, StoreAnswers answers)
    : store_(store),
      shard_of_(std::move(shard_of)),
      local_(local),
      clock_(clock),
      breakers_(store, executor, clock, settings, counters_),
      answers_(answers) {
  const HashKey random = random_hash_key();
  id_prefix_ = std::to_string(random.first) + "-" + std::to_string(random.second) + "-";
}

void FailoverStore::consume(GuardedCharges charges, Done<core::Decision> done) {
  decide(std::move(charges), true, std::move(done));
}

void FailoverStore::peek(GuardedCharges charges, Done<core::Decision> done) {
  decide(std::move(charges), false, std::move(done));
}

void FailoverStore::refund(Refund refund, Done<bool> done) {
  if (auto valid = calls::check(refund); !valid) return done(std::unexpected(std::move(valid).error()));
  std::make_shared<FailoverRefund>(*this, std::move(refund), std::move(done))->start();
}

void FailoverStore::decide(GuardedCharges charges, bool take, Done<core::Decision> done) {
  if (charges.empty() || charges.size() > kChargesPerRequestMax) {
    return done(fail(ErrorCode::invalid_argument, std::to_string(charges.size()) +
                                                      " charges in one request; accepted are 1 to " +
                                                      std::to_string(kChargesPerRequestMax)));
  }
  if (answers_ == StoreAnswers::at_once) {
    if (auto decision = decide_at_once(charges, take)) return done(*std::move(decision));
  }
  std::make_shared<FailoverCall>(*this, std::move(charges), take, std::move(done))->start();
}

/// What needs no FailoverCall: one shard has all charges, its breaker is closed, the store does not fail.
/// Empty: it is not so, and nothing was taken.
std::optional<core::Decision> FailoverStore::decide_at_once(const GuardedCharges& charges, bool take) {
  const std::size_t shard = shard_of_(charges.front().charge.key);
  const auto elsewhere = [&](const GuardedCharge& guarded) { return shard_of_(guarded.charge.key) != shard; };
  if (std::any_of(charges.begin() + 1, charges.end(), elsewhere)) return std::nullopt;
  const auto permit = breakers_.admit(shard);
  if (!permit) return std::nullopt;
  Charges asked;
  for (const GuardedCharge& guarded : charges) asked.push_back(guarded.charge);
  std::optional<core::Decision> decision;
  const auto hear = [&decision](Result<core::Decision> answer) {
    if (answer) decision = *std::move(answer);
  };
  take ? store_.consume(std::move(asked), hear) : store_.peek(std::move(asked), hear);
  if (decision) breakers_.report(shard, *permit, nullptr, charges.front().charge);
  return decision;
}

}  // namespace dripgate::store
