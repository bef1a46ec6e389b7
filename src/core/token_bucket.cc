// See the header.
#include "core/token_bucket.h"

#include <algorithm>

#include "core/token_bucket_math.h"

namespace dripgate::core::token_bucket {
namespace {

/// The balance in units carries over, clamped to the new capacity: raising gifts nothing, and what was earned
/// so far was earned at the old rate. Rounded against the client where the periods differ.
Wide converted(Wide debt, const WrittenUnder& from, const WrittenUnder& to) {
  if (debt == 0) return 0;  // full: as good as never used
  Wide balance = full<Wide>(from) - debt;
  if (from.window != to.window) {
    const Wide period = from.window.count();
    const Wide whole = floor_div(balance, period);
    balance = whole * to.window.count() + (balance - whole * period) * to.window.count() / period;
  }
  Wide result = std::max<Wide>(full<Wide>(to) - balance, 0);
  if (to.limit == 0) result = ceil_div<Wide>(result, to.window.count()) * to.window.count();
  return result;
}

Wide debt_at(const CounterState& state, const WrittenUnder& numbers, WallTime now) {
  if (!state.exists || state.written.algorithm != Algorithm::token_bucket) return 0;
  const Wide debt = stored_debt({state.time, state.value}, state.written, now);
  return state.written == numbers ? debt : converted(debt, state.written, numbers);
}

}  // namespace

Step evaluate(const CounterState& state, const Limit& limit, Units cost, WallTime now) {
  Step step;
  const Wide debt = debt_at(state, written_under(limit), now);
  const PackedState after = decide<Wide>(debt, full<Wide>(limit), limit, cost, now, step.outcome);
  step.time = after.time;
  step.value = after.value;
  return step;
}

bool adopt(CounterState& state, const Limit& limit, WallTime now) {
  const WrittenUnder numbers = written_under(limit);
  if (state.written == numbers) return false;
  const Stored converted_state = stored<Wide>(debt_at(state, numbers, now), numbers, now);
  state.written = numbers;
  state.time = converted_state.state.time;
  state.value = converted_state.state.value;
  return true;
}

/// The charge shortened the balance by at most `cost`, and by less once the bucket would have been full
/// without it; that happens no sooner than after the time it takes to refill the cost. What is certain to be
/// still missing because of it is the cost less everything refilled since.
bool refund(CounterState& state, const Limit& limit, Units cost, WallTime consumed_at, WallTime now) {
  const WrittenUnder& numbers = state.written;
  const Wide since = std::max<std::int64_t>(0, (now - consumed_at).count());
  Wide refilled = since * numbers.limit;
  if (limit.window.count() > 0)  // the faster of the rates then and now
    refilled = std::max(refilled,
                        ceil_div<Wide>(since * limit.limit * numbers.window.count(), limit.window.count()));
  const Wide owed = Wide{cost} * numbers.window.count() - refilled;
  const Wide debt = stored_debt({state.time, state.value}, numbers, now);
  if (owed <= 0 || debt == 0) return false;
  const Stored after = stored<Wide>(std::max<Wide>(0, debt - owed), numbers, now);
  state.time = after.state.time;
  state.value = after.state.value;
  return true;
}

WallTime refundable_until(const Limit& limit, Units cost, WallTime consumed_at) {
  if (limit.limit == 0) return kNeverEnds;
  const Duration refill{round_up(divide(Wide{std::max<Units>(cost, 0)} * limit.window.count(), limit.limit))};
  return std::min(from_us(saturating_add(to_us(consumed_at), refill.count())), kNeverEnds);
}

WallTime forgettable_at(PackedState state, Units refill) {
  if (refill == 0) return state.value > 0 ? kNeverEnds : kLongAgo;
  return state.time + Duration{state.value > 0 ? 1 : 0};
}

}  // namespace dripgate::core::token_bucket
