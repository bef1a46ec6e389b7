#include "store/failover/failover_store.h"

#include <utility>

#include "base/keyed_hash.h"
#include "base/limits.h"
#include "store/failover/failover_call.h"

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
  if (charges.empty() || charges.size() > kChargesPerRequestMax) {
    return done(fail(ErrorCode::invalid_argument, std::to_string(charges.size()) +
                                                      " charges in one request; accepted are 1 to " +
                                                      std::to_string(kChargesPerRequestMax)));
  }
  std::make_shared<FailoverCall>(*this, std::move(charges), std::move(done))->start();
}

}  // namespace dripgate::store
