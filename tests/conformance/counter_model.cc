#include "conformance/counter_model.h"

#include <algorithm>

#include "core/sliding_log.h"

namespace dripgate::testing {
namespace {

using core::Algorithm;
using core::LimitOutcome;
using core::Units;
using core::Verdict;

Exact ceil_of(Exact dividend, Exact divisor) {
  return (dividend + divisor - 1) / divisor;
}

Exact full(const core::Limit& limit) {
  return Exact{limit.capacity} * limit.window.count();
}

WallTime start_of(const core::Limit& limit, WallTime t) {
  return from_us(to_us(t) / limit.window.count() * limit.window.count());
}

/// Everything but the wait is alike for the three kinds.
LimitOutcome outcome_of(Units room, Units limit, Units cost, Duration reset_after) {
  const Units asked = std::max<Units>(cost, 1);
  LimitOutcome outcome{
      .verdict = Verdict::allow, .remaining = room, .reset_after = reset_after, .retry_after = {}};
  if (limit > 0 && asked > limit) {
    outcome.verdict = Verdict::impossible;
  } else if (asked > room) {
    outcome.verdict = Verdict::deny;
  } else {
    outcome.remaining = room - cost;
  }
  return outcome;
}

}  // namespace

Units CounterModel::used_in_window(const Counter& counter, WallTime start, Duration window) {
  Units used = 0;
  for (const Grant& grant : counter.grants) {
    if (grant.at >= start && grant.at < start + window) used += grant.units;
  }
  return used;
}

LimitOutcome CounterModel::ask_window(const Counter& counter, const core::Limit& limit, Units cost,
                                      WallTime now) {
  const WallTime start = start_of(limit, now);
  const Units room = std::max<Units>(0, limit.limit - used_in_window(counter, start, limit.window));
  LimitOutcome outcome = outcome_of(room, limit.limit, cost, start + limit.window - now);
  if (outcome.verdict == Verdict::deny && limit.limit > 0) outcome.retry_after = outcome.reset_after;
  return outcome;
}

LimitOutcome CounterModel::ask_log(const Counter& counter, const core::Limit& limit, Units cost,
                                   WallTime now) {
  // The span (t - window, t], for t = now and for every later t at which something leaves it.
  const auto in_span = [&](WallTime t) {
    return used_in_window(counter, t - limit.window + Duration{1}, limit.window);
  };
  const Units room = std::max<Units>(0, limit.limit - in_span(now));
  WallTime newest = now - limit.window;
  for (const Grant& grant : counter.grants) {
    if (grant.units > 0) newest = std::max(newest, grant.at);
  }
  LimitOutcome outcome = outcome_of(room, limit.limit, cost, newest + limit.window - now);
  if (outcome.verdict == Verdict::allow && cost > 0) outcome.reset_after = limit.window;
  if (outcome.verdict != Verdict::deny || limit.limit == 0) return outcome;
  std::vector<WallTime> leaves;
  for (const Grant& grant : counter.grants) leaves.push_back(grant.at + limit.window);
  std::ranges::sort(leaves);
  for (const WallTime t : leaves) {
    if (t <= now || in_span(t) > limit.limit - std::max<Units>(cost, 1)) continue;
    outcome.retry_after = t - now;
    break;
  }
  return outcome;
}

LimitOutcome CounterModel::ask_bucket(const Counter& counter, const core::Limit& limit, Units cost,
                                      WallTime now) {
  const Exact window = limit.window.count();
  Exact balance = converted(counter, limit, now);
  const Exact over = Exact{std::max<Units>(cost, 1)} * window - balance;
  LimitOutcome outcome = outcome_of(static_cast<Units>(balance / window), limit.capacity, cost, Duration{0});
  if (outcome.verdict == Verdict::deny && limit.limit > 0 && limit.capacity > 0) {
    outcome.retry_after = Duration{static_cast<std::int64_t>(ceil_of(over, limit.limit))};
  }
  if (outcome.verdict == Verdict::allow) balance -= Exact{cost} * window;
  const Exact missing = full(limit) - balance;
  if (missing > 0) {
    outcome.reset_after = limit.limit == 0
                              ? core::kNeverResets
                              : Duration{static_cast<std::int64_t>(ceil_of(missing, limit.limit))};
  }
  return outcome;
}

LimitOutcome CounterModel::ask(const Counter& counter, const core::Limit& limit, Units cost, WallTime now) {
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
      return ask_bucket(counter, limit, cost, now);
    case Algorithm::sliding_log:
      return ask_log(counter, limit, cost, now);
    case Algorithm::fixed_window:
      break;
  }
  return ask_window(counter, limit, cost, now);
}

Exact CounterModel::balance_at(const Counter& counter, WallTime now) {
  const Exact earned = Exact{(now - counter.balanced_at).count()} * counter.limit.limit;
  return std::min(full(counter.limit), counter.balance + earned);
}

/// A full bucket stays full, any other keeps its balance, clamped; a fraction that the new window cannot
/// express is lost to the client.
Exact CounterModel::converted(const Counter& counter, const core::Limit& limit, WallTime now) {
  const core::Limit& old = counter.limit;
  const Exact balance = balance_at(counter, now);
  if (old.limit == limit.limit && old.capacity == limit.capacity && old.window == limit.window)
    return balance;
  if (balance == full(old)) return full(limit);
  Exact kept = balance * limit.window.count() / old.window.count();
  kept = std::min(kept, full(limit));
  return limit.limit == 0 ? kept / limit.window.count() * limit.window.count() : kept;
}

CounterModel::Counter CounterModel::known_or_new(const store::Charge& charge, WallTime now) const {
  const auto known = counters_.find(charge.key);
  if (known != counters_.end()) return known->second;
  return Counter{.limit = charge.limit, .grants = {}, .balance = full(charge.limit), .balanced_at = now};
}

CounterModel::Counter& CounterModel::counter_of(const store::Charge& charge, WallTime now) {
  return counters_.try_emplace(charge.key, known_or_new(charge, now)).first->second;
}

core::Decision CounterModel::decide(const store::Charges& charges, WallTime now, bool take) {
  core::Decision decision;
  decision.now = now;
  std::map<std::string, Units> asked;
  for (const store::Charge& charge : charges) asked[charge.key] += charge.cost;
  for (const store::Charge& charge : charges) {
    decision.outcomes.push_back(ask(known_or_new(charge, now), charge.limit, asked[charge.key], now));
  }
  // Worst verdict first, then the longest wait, then the fewest left, then the longest until full.
  const auto rank = [](const LimitOutcome& o) {
    const int severity = o.verdict == Verdict::impossible ? 2 : o.verdict == Verdict::deny ? 1 : 0;
    const Duration wait =
        o.verdict == Verdict::deny ? o.retry_after.value_or(core::kNeverResets) : Duration{0};
    const bool compares_room = o.verdict != Verdict::deny;
    return std::tuple(severity, wait, compares_room ? -o.remaining : 0,
                      compares_room ? o.reset_after : Duration{0});
  };
  for (std::size_t i = 1; i < charges.size(); ++i) {
    if (rank(decision.outcomes[i]) > rank(decision.outcomes[decision.decisive])) decision.decisive = i;
  }
  decision.verdict = decision.outcomes[decision.decisive].verdict;
  if (decision.verdict != Verdict::allow) {
    for (std::size_t i = 0; i < charges.size(); ++i) {
      if (decision.outcomes[i].verdict != Verdict::allow) continue;
      decision.outcomes[i] = ask(known_or_new(charges[i], now), charges[i].limit, 0, now);
      decision.outcomes[i].verdict = Verdict::allow;
    }
  }
  if (!take) return decision;
  const bool allowed = decision.verdict == Verdict::allow;
  for (const store::Charge& charge : charges) {
    // Whoever asks under a changed limit makes it count from now on, also when refused.
    if (!counters_.contains(charge.key) && !(allowed && charge.cost > 0)) continue;
    Counter& counter = counter_of(charge, now);
    counter.balance = converted(counter, charge.limit, now);
    counter.balanced_at = now;
    counter.limit = charge.limit;
    if (!allowed) continue;
    counter.balance -= Exact{charge.cost} * charge.limit.window.count();
    if (charge.cost > 0) counter.grants.push_back({now, charge.cost});
  }
  return decision;
}

bool CounterModel::refund(const store::Refund& refund, WallTime now) {
  if (!refunded_.insert(refund.request_id).second) return false;
  bool given = false;
  for (const store::Charge& charge : refund.charges) {
    const auto known = counters_.find(charge.key);
    if (known != counters_.end() && charge.cost > 0 &&
        give_back(known->second, charge, refund.consumed_at, now)) {
      given = true;
    }
  }
  return given;
}

bool CounterModel::give_back(Counter& counter, const store::Charge& charge, WallTime consumed_at,
                             WallTime now) {
  const core::Limit& limit = counter.limit;
  if (limit.algorithm == Algorithm::token_bucket) {
    return give_back_bucket(counter, charge, now - consumed_at, now);
  }
  WallTime from = consumed_at;  // a log: the units of that instant, else the next ones
  Duration span = core::sliding_log::kTakenLaterMax + Duration{1};
  if (limit.algorithm == Algorithm::fixed_window) {
    from = start_of(limit, consumed_at);
    span = limit.window;
    if (from != start_of(limit, now)) return false;
  } else if (consumed_at <= now - limit.window) {
    return false;
  }
  Units left = charge.cost;
  for (Grant& grant : counter.grants) {
    if (grant.at < from || grant.at >= from + span) continue;
    const Units taken = std::min(left, grant.units);
    grant.units -= taken;
    left -= taken;
  }
  return left < charge.cost;
}

/// What has been refilled since, at the faster of the rates then and now, is not given a second time.
bool CounterModel::give_back_bucket(Counter& counter, const store::Charge& charge, Duration since,
                                    WallTime now) {
  const Exact window = counter.limit.window.count();
  const Exact refilled =
      std::max(Exact{since.count()} * counter.limit.limit,
               ceil_of(Exact{since.count()} * charge.limit.limit * window, charge.limit.window.count()));
  const Exact owed = Exact{charge.cost} * window - refilled;
  const Exact balance = balance_at(counter, now);
  if (owed <= 0 || balance == full(counter.limit)) return false;
  counter.balance = std::min(full(counter.limit), balance + owed);
  if (counter.limit.limit == 0) counter.balance = counter.balance / window * window;
  counter.balanced_at = now;
  return true;
}

bool CounterModel::exists(const store::Charge& charge, WallTime now) const {
  const auto known = counters_.find(charge.key);
  if (known == counters_.end()) return false;
  const Counter& counter = known->second;
  switch (counter.limit.algorithm) {
    case Algorithm::token_bucket:
      return balance_at(counter, now) < full(counter.limit);
    case Algorithm::sliding_log:
      return std::ranges::any_of(counter.grants,
                                 [&](const Grant& grant) { return grant.at + counter.limit.window > now; });
    case Algorithm::fixed_window:
      break;
  }
  return std::ranges::any_of(counter.grants, [&](const Grant& grant) {
    return start_of(counter.limit, grant.at) == start_of(counter.limit, now);
  });
}

}  // namespace dripgate::testing
