#include "store/failover/failover_store.h"

#include <utility>

#include "base/keyed_hash.h"
#include "base/limits.h"
#include "store/counter_calls.h"
#include "store/failover/failover_call.h"
#include "store/failover/failover_refund.h"

namespace dripgate::store {

FailoverStore::FailoverStore(CounterStore& store, ShardOf shard_of, LocalCounters& local, Executor& executor,
                             const Clock& clock, core::BreakerSettings settings)
    : store_(store),
      shard_of_(std::move(shard_of)),
      local_(local),
      clock_(clock),
      breakers_(store, executor, clock, settings, counters_) {
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
  std::make_shared<FailoverCall>(*this, std::move(charges), take, std::move(done))->start();
}

}  // namespace dripgate::store
