// See the header. `debt` below is what is missing to a full bucket in 1/window of a unit, so that one us
// refills exactly `limit` of it and one unit is exactly `window` of it: no division before the answer is
// known.
#include "core/token_bucket.h"

#include <algorithm>

#include "base/checked.h"

namespace dripgate::core::token_bucket {
namespace {

/// 128-bit division is a library call; nearly every number here fits 64 bits.
struct Quotient {
  Wide whole;
  std::int64_t rest;
};
Quotient divide(Wide dividend, std::int64_t divisor) {  // dividend >= 0, divisor > 0
  if (dividend <= std::numeric_limits<std::int64_t>::max()) {
    const auto small = static_cast<std::int64_t>(dividend);
    return {small / divisor, small % divisor};
  }
  return {dividend / divisor, static_cast<std::int64_t>(dividend % divisor)};
}
std::int64_t round_up(const Quotient& q) {
  return saturate(q.whole + (q.rest > 0 ? 1 : 0));
}

Wide full(const WrittenUnder& numbers) {
  return Wide{numbers.capacity} * numbers.window.count();
}

/// By the numbers that the state was written under.
Wide stored_debt(const CounterState& state, WallTime now) {
  const WrittenUnder& numbers = state.written;
  if (numbers.limit == 0) return Wide{state.value} * numbers.window.count();
  const Wide debt = Wide{(state.time - now).count()} * numbers.limit + state.value;
  return std::max<Wide>(debt, 0);
}

/// The balance in units carries over, clamped to the new capacity: raising gifts nothing, and what was earned
/// so far was earned at the old rate. Rounded against the client where the periods differ.
Wide converted(Wide debt, const WrittenUnder& from, const WrittenUnder& to) {
  if (debt == 0) return 0;  // full: as good as never used
  Wide balance = full(from) - debt;
  if (from.window != to.window) {
    const Wide period = from.window.count();
    const Wide whole = floor_div(balance, period);
    balance = whole * to.window.count() + (balance - whole * period) * to.window.count() / period;
  }
  Wide result = std::max<Wide>(full(to) - balance, 0);
  if (to.limit == 0) result = ceil_div<Wide>(result, to.window.count()) * to.window.count();
  return result;
}

Wide debt_at(const CounterState& state, const WrittenUnder& numbers, WallTime now) {
  if (!state.exists || state.written.algorithm != Algorithm::token_bucket) return 0;
  const Wide debt = stored_debt(state, now);
  return state.written == numbers ? debt : converted(debt, state.written, numbers);
}

struct Stored {
  WallTime time;
  std::int64_t value;
  Duration refill;  // until full, rounded up
};
Stored stored(Wide debt, const WrittenUnder& numbers, WallTime now) {
  if (debt == 0) return {now, 0, Duration{0}};
  if (numbers.limit == 0) {
    const std::int64_t spent = saturate(divide(debt, numbers.window.count()).whole);
    return {kNeverEnds, spent, kNeverResets};
  }
  const Quotient q = divide(debt, numbers.limit);
  const std::int64_t ahead = saturate(q.whole);
  const std::int64_t time = std::min(saturating_add(to_us(now), ahead), to_us(kNeverEnds));
  return {from_us(time), q.rest, Duration{round_up(q)}};
}

Units whole_units(Wide debt, const WrittenUnder& numbers) {
  const Wide left = full(numbers) - debt;
  return left <= 0 ? 0 : static_cast<Units>(divide(left, numbers.window.count()).whole);
}

}  // namespace

Step evaluate(const CounterState& state, const Limit& limit, Units cost, WallTime now) {
  const WrittenUnder numbers = written_under(limit);
  Wide debt = debt_at(state, numbers, now);
  const Units asked = std::max<Units>(cost, 1);
  const Wide over = debt + Wide{asked} * numbers.window.count() - full(numbers);
  Step step;
  if (limit.capacity > 0 && asked > limit.capacity) {
    step.outcome.verdict = Verdict::impossible;
  } else if (over > 0) {
    step.outcome.verdict = Verdict::deny;
    if (limit.capacity > 0 && limit.limit > 0)
      step.outcome.retry_after = Duration{round_up(divide(over, limit.limit))};
  } else if (cost > 0) {
    debt += Wide{cost} * numbers.window.count();
  }
  const Stored after = stored(debt, numbers, now);
  step.time = after.time;
  step.value = after.value;
  step.outcome.remaining = whole_units(debt, numbers);
  step.outcome.reset_after = after.refill;
  return step;
}

bool adopt(CounterState& state, const Limit& limit, WallTime now) {
  const WrittenUnder numbers = written_under(limit);
  if (state.written == numbers) return false;
  const Stored converted_state = stored(debt_at(state, numbers, now), numbers, now);
  state.written = numbers;
  state.time = converted_state.time;
  state.value = converted_state.value;
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
  const Wide debt = stored_debt(state, now);
  if (owed <= 0 || debt == 0) return false;
  const Stored after = stored(std::max<Wide>(0, debt - owed), numbers, now);
  state.time = after.time;
  state.value = after.value;
  return true;
}

WallTime refundable_until(const Limit& limit, Units cost, WallTime consumed_at) {
  if (limit.limit == 0) return kNeverEnds;
  const Duration refill{round_up(divide(Wide{std::max<Units>(cost, 0)} * limit.window.count(), limit.limit))};
  return std::min(from_us(saturating_add(to_us(consumed_at), refill.count())), kNeverEnds);
}

WallTime forgettable_at(const CounterState& state) {
  if (state.written.limit == 0) return state.value > 0 ? kNeverEnds : kLongAgo;
  return state.time + Duration{state.value > 0 ? 1 : 0};
}

}  // namespace dripgate::core::token_bucket
