#include "store/redis/counter_decisions.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/checked.h"
#include "base/limits.h"
#include "core/check.h"
#include "store/redis/counter_code.h"

namespace dripgate::store {
namespace {

/// Times and spans stay below: their sums with a time of our days are exact doubles.
constexpr std::int64_t kSpanMax = std::int64_t{1} << 50;  // us: 35 years

Result<void> check_countable(const Charge& charge) {
  const core::Limit& limit = charge.limit;
  const auto refuse = [&](const char* what) {
    return fail(ErrorCode::invalid_argument, "charge of key '" + charge.key + "': " + what);
  };
  if (limit.window.count() > kSpanMax) return refuse("the window is longer than 2^50 us");
  if (limit.algorithm != core::Algorithm::token_bucket) return {};
  const core::Units most = std::max(limit.limit, limit.capacity);
  if (most > (kExactIntegerMax - 1) / limit.window.count())
    return refuse("limit or capacity times the window (us) must stay below 2^53");
  if (limit.limit > 0 && limit.capacity > kSpanMax / limit.window.count() * limit.limit)
    return refuse("the bucket takes longer than 2^50 us to fill");
  return {};
}

}  // namespace

Result<void> check_countable(const Charges& charges) {
  for (const Charge& charge : charges)
    if (auto countable = check_countable(charge); !countable) return countable;
  return {};
}

Charges join_costs(Charges charges) {
  std::vector<core::Units> joint;
  joint.reserve(charges.size());
  for (const Charge& charge : charges) {
    core::Units cost = 0;
    for (const Charge& other : charges)
      if (other.key == charge.key) cost = saturating_add(cost, other.cost);
    joint.push_back(cost);
  }
  for (std::size_t i = 0; i < charges.size(); ++i) charges[i].cost = joint[i];
  return charges;
}

bool is_common(const Charge& charge) {
  return charge.cost > 0 && charge.cost <= charge.limit.capacity && !counter_code(charge.limit).empty();
}

bool is_under(const core::CounterState& state, const core::Limit& limit, WallTime now) {
  if (!state.exists) return true;
  const Duration full = limit.window / limit.limit * limit.capacity;
  return state.written == core::written_under(limit) && state.value == 0 &&
         state.time - now <= full + kClockClampMax;
}

std::unexpected<Error> scripts_disagree() {
  return fail(ErrorCode::corrupt, "a counter script and core decided differently over the same counter");
}

core::Decision decide(std::span<const Charge> charges, std::vector<core::CounterState>& states,
                      WallTime now) {
  std::vector<core::CheckItem> items;
  items.reserve(charges.size());
  for (std::size_t i = 0; i < charges.size(); ++i)
    items.push_back({.state = &states[i], .limit = &charges[i].limit, .cost = charges[i].cost});
  return core::peek(items, now);
}

std::vector<core::Decision> decide_each(const Charge& charge, core::Units requests, core::CounterState& state,
                                        WallTime now) {
  const core::CheckItem item{.state = &state, .limit = &charge.limit, .cost = charge.cost};
  std::vector<core::Decision> decisions;
  decisions.reserve(static_cast<std::size_t>(requests));
  for (core::Units i = 0; i < requests; ++i) decisions.push_back(core::consume({&item, 1}, now));
  return decisions;
}

}  // namespace dripgate::store
