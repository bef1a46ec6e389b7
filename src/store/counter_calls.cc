#include "store/counter_calls.h"

#include <algorithm>

#include "base/limits.h"

namespace dripgate::store::calls {
namespace {

std::unexpected<Error> invalid(std::string_view key, const std::string& what) {
  return fail(ErrorCode::invalid_argument, "charge of key '" + std::string(key) + "': " + what);
}

Result<void> check(const Charge& charge) {
  if (auto valid = check_key(charge.key); !valid) return valid;
  const core::Limit& limit = charge.limit;
  if (charge.cost < 0) return invalid(charge.key, "cost is negative; accepted are 0 and more");
  for (const core::Units units : {limit.limit, limit.capacity}) {
    if (units < 0 || units > kCounterUnitsMax) {
      return invalid(charge.key, "limit or capacity is " + std::to_string(units) + "; accepted are 0 to " +
                                     std::to_string(kCounterUnitsMax));
    }
  }
  if (limit.window <= Duration{0}) return invalid(charge.key, "window must be longer than 0");
  return {};
}

}  // namespace

Result<void> check(const Charges& charges) {
  if (charges.empty() || charges.size() > kChargesPerRequestMax) {
    return fail(ErrorCode::invalid_argument, std::to_string(charges.size()) +
                                                 " charges in one request; accepted are 1 to " +
                                                 std::to_string(kChargesPerRequestMax));
  }
  for (const Charge& charge : charges) {
    if (auto valid = check(charge); !valid) return valid;
  }
  return {};
}

Result<void> check(const Refund& refund) {
  if (refund.request_id.empty()) return fail(ErrorCode::invalid_argument, "refund: the request id is empty");
  return check(refund.charges);
}

Result<void> check_key(std::string_view key) {
  if (!key.empty() && key.front() != kOwnRowPrefix) return {};
  return fail(ErrorCode::invalid_argument, "counter key: empty, or begins with the byte 1");
}

WallTime counter_expiry(const core::CounterState& state, const core::Limit& limit, WallTime now) {
  return std::max(core::forgettable_at(state, limit), now + kCounterKeptMin);
}

WallTime refund_expiry(const Refund& refund) {
  WallTime last = kLongAgo;
  for (const Charge& charge : refund.charges) {
    last = std::max(last, core::refundable_until(charge.limit, charge.cost, refund.consumed_at));
  }
  return last;
}

}  // namespace dripgate::store::calls
