#include "store/redis/counter_store.h"

#include <utility>

#include "base/checked.h"
#include "base/limits.h"
#include "store/counter_calls.h"
#include "store/redis/counter_decisions.h"

namespace dripgate::store {
namespace {

Result<void> check(const Charges& charges) {
  if (auto valid = calls::check(charges); !valid) return valid;
  return check_countable(charges);
}

Result<void> check(const Refund& refund) {
  if (auto valid = calls::check(refund); !valid) return valid;
  if (auto valid = check_countable(refund.charges); !valid) return valid;
  for (const Charge& charge : refund.charges) {
    const bool countable = charge.limit.algorithm != core::Algorithm::token_bucket ||
                           charge.cost <= (kExactIntegerMax - 1) / charge.limit.window.count();
    if (!countable)
      return fail(ErrorCode::invalid_argument,
                  "refund of key '" + charge.key + "': cost times the window (us) must stay below 2^53");
  }
  return {};
}

}  // namespace

void RedisCounterStore::consume(Charges charges, Done<core::Decision> done) {
  if (auto valid = check(charges); !valid) return done(std::unexpected(std::move(valid).error()));
  if (charges.size() == 1 && charges.front().cost > 0)
    return coalescer_.consume(std::move(charges.front()), std::move(done));
  groups_.consume(std::move(charges), std::move(done));
}

void RedisCounterStore::peek(Charges charges, Done<core::Decision> done) {
  if (auto valid = check(charges); !valid) return done(std::unexpected(std::move(valid).error()));
  groups_.peek(std::move(charges), std::move(done));
}

void RedisCounterStore::refund(Refund refund, Done<bool> done) {
  if (auto valid = check(refund); !valid) return done(std::unexpected(std::move(valid).error()));
  groups_.refund(std::move(refund), std::move(done));
}

void RedisCounterStore::reset(std::string key, Done<void> done) {
  if (auto valid = calls::check_key(key); !valid) return done(std::move(valid));
  scripts_.reset(key, std::move(done));
}

void RedisCounterStore::inspect(Charge charge, Done<CounterView> done) {
  charge.cost = 0;
  auto charges = std::make_shared<const Charges>(Charges{std::move(charge)});
  if (auto valid = check(*charges); !valid) return done(std::unexpected(std::move(valid).error()));
  scripts_.peek(charges, [charges, done = std::move(done)](Result<Heard> heard) mutable {
    if (!heard) return done(std::unexpected(std::move(heard).error()));
    const core::Decision decision = decide(*charges, heard->states, heard->now);
    done(CounterView{
        .outcome = decision.outcomes.front(),
        .exists = core::forgettable_at(heard->states.front(), charges->front().limit) > heard->now});
  });
}

std::unique_ptr<CounterStore> make_redis_counter_store(redis::Client& client, RedisStoreOptions options) {
  return std::make_unique<RedisCounterStore>(client, std::move(options));
}

}  // namespace dripgate::store
