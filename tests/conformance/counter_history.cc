#include "conformance/counter_history.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "conformance/limits.h"

namespace dripgate::testing {
namespace {

using core::Verdict;

const std::string kTouched = "touched";

std::string describe(const core::LimitOutcome& o) {
  std::ostringstream out;
  out << "{" << static_cast<int>(o.verdict) << " left " << o.remaining << " reset " << o.reset_after.count()
      << " retry " << (o.retry_after ? std::to_string(o.retry_after->count()) : "-") << "}";
  return out.str();
}

std::string describe(const core::Decision& decision) {
  std::string text = "verdict " + std::to_string(static_cast<int>(decision.verdict)) + " by " +
                     std::to_string(decision.decisive) + " at " + std::to_string(to_us(decision.now));
  for (const core::LimitOutcome& outcome : decision.outcomes) text += " " + describe(outcome);
  return text;
}

template <class Value>
std::string differ(const char* what, const Value& store, const Value& model) {
  if (store == model) return {};
  std::ostringstream out;
  out << what << ": the store says " << store << ", the model " << model;
  return out.str();
}

}  // namespace

CounterHistory::CounterHistory(HistoryWorld& world, Reached& reached)
    : reached_(reached),
      clock_(world.clock),
      under_(*world.under),
      seen_(world.seen),
      prefix_(std::to_string(++world.histories) + ":"),
      limits_{per(5, 10us), log_of(4, 10us), bucket(7, 90us, 5), bucket(2, 7us, 3)},
      last_grant_(kKeys, kLongAgo) {
  clock_.set(std::max(seen_, clock_.now()) + 1h);
}

std::string CounterHistory::run(const std::vector<HistoryStep>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string wrong = step(steps[i]);
    if (!wrong.empty()) return "step " + std::to_string(i) + ": " + wrong;
  }
  return {};
}

std::string CounterHistory::step(const HistoryStep& step) {
  switch (step.kind) {
    case 5:
      return consume(charges(step), false);
    case 6:
    case 7:
    case 8:
    case 9:
    case 10:
      return advance(step), std::string{};
    case 11:
    case 12:
      return refund(step);
    case 13:
      return change_limit(step), std::string{};
    case 14:
      return step_clock_back(step);
    case 15:
      return step.a % 4 == 0 ? reset(step) : std::string{};
    case 16:
      return inspect(step);
    default:
      return consume(charges(step), true);
  }
}

core::Units CounterHistory::cost(int key, int number) const {
  const core::Units full = limits_[key].max_cost();
  const std::array<core::Units, 8> costs{1, 1, 1, 2, 3, 0, full, full + 1};
  return costs[number % costs.size()];
}

store::Charges CounterHistory::charges(const HistoryStep& step) const {
  store::Charges made;
  const int count = step.a % 4 == 0 ? 3 : step.a % 4 == 1 ? 2 : 1;
  for (int i = 0; i < count; ++i) {
    const int key = (step.key + i * (1 + step.b % 3)) % kKeys;  // may name a key twice
    made.push_back({.key = name(key), .limit = limits_[key], .cost = cost(key, step.b / (1 + 3 * i) + i)});
  }
  return made;
}

std::string CounterHistory::consume(const store::Charges& charges, bool take) {
  const auto answer = ask<core::Decision>(under_, [&](auto done) {
    take ? under_.counters().consume(charges, std::move(done))
         : under_.counters().peek(charges, std::move(done));
  });
  if (is_failing()) {
    ++reached_.steps_failed;
    if (!answer && answer.error().code == ErrorCode::clock_stepped_back) return {};
    return "expected clock_stepped_back";
  }
  if (!answer) return answer.error().detail;
  if (clock_.now() < seen_) ++reached_.steps_bridged;
  seen_ = now();
  if (take) classify(charges, *answer);
  const core::Decision expected = take ? model_.consume(charges, seen_) : model_.peek(charges, seen_);
  promised_ =
      expected.verdict == Verdict::deny ? expected.outcomes[expected.decisive].retry_after : std::nullopt;
  if (take && expected.verdict == Verdict::allow) {
    taken_.push_back({.charges = charges, .at = seen_, .id = prefix_ + "r" + std::to_string(taken_.size())});
  }
  return differ("decision", describe(*answer), describe(expected));
}

void CounterHistory::classify(const store::Charges& charges, const core::Decision& decision) {
  const bool allowed = decision.verdict == Verdict::allow;
  reached_.allowed += allowed ? 1 : 0;
  reached_.denied += decision.verdict == Verdict::deny ? 1 : 0;
  reached_.impossible += decision.verdict == Verdict::impossible ? 1 : 0;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const store::Charge& charge = charges[i];
    if (charge.key == kTouched) continue;
    const int key = charge.key.back() - '0';
    const std::int64_t in_window = to_us(seen_) % charge.limit.window.count();
    if (in_window == 0 || in_window == charge.limit.window.count() - 1) ++reached_.window_edges;
    if (!allowed && decision.outcomes[i].verdict == Verdict::allow) ++reached_.partly_denied;
    if (!allowed || charge.cost == 0) continue;
    if (charge.cost > 1) ++reached_.costs_above_one;
    if (last_grant_[key] == seen_) ++reached_.equal_timestamps;
    if (last_grant_[key] != kLongAgo && !model_.exists(charge, seen_)) ++reached_.expired;
    last_grant_[key] = seen_;
  }
}

std::string CounterHistory::refund(const HistoryStep& step) {
  if (taken_.empty() || is_failing()) return {};
  // Nearly always one of the last: older ones have nothing left to give.
  const std::size_t back = static_cast<std::size_t>(step.a % 8);
  Taken& taken = taken_[taken_.size() - 1 - std::min(back, taken_.size() - 1)];
  const store::Refund asked{.charges = taken.charges, .consumed_at = taken.at, .request_id = taken.id};
  const auto answer = ask<bool>(under_, [&](auto done) { under_.counters().refund(asked, std::move(done)); });
  if (!answer) return answer.error().detail;
  seen_ = now();
  const bool expected = model_.refund(asked, seen_);
  (expected         ? reached_.refunds_given
   : taken.refunded ? reached_.refunds_repeated
                    : reached_.refunds_refused)++;
  taken.refunded = true;
  return differ("refund", *answer, expected);
}

std::string CounterHistory::reset(const HistoryStep& step) {
  if (is_failing()) return {};
  const std::string key = name(step.key);
  const auto answer = ask<void>(under_, [&](auto done) { under_.counters().reset(key, std::move(done)); });
  if (!answer) return answer.error().detail;
  seen_ = now();
  model_.reset(key);
  last_grant_[step.key] = kLongAgo;
  return {};
}

std::string CounterHistory::inspect(const HistoryStep& step) {
  if (is_failing()) return {};
  const store::Charge charge{.key = name(step.key), .limit = limits_[step.key], .cost = 1};
  const auto answer =
      ask<store::CounterView>(under_, [&](auto done) { under_.counters().inspect(charge, std::move(done)); });
  if (!answer) return answer.error().detail;
  seen_ = now();
  store::Charge nothing = charge;
  nothing.cost = 0;
  const std::string wrong =
      differ("inspect", describe(answer->outcome), describe(model_.peek({nothing}, seen_).outcomes[0]));
  return wrong.empty() ? differ("exists", answer->exists, model_.exists(charge, seen_)) : wrong;
}

void CounterHistory::advance(const HistoryStep& step) {
  if (is_failing()) return clock_.set(seen_);
  const std::int64_t window = limits_[step.key].window.count();
  const std::int64_t to_edge = window - to_us(now()) % window;
  switch (step.kind) {
    case 6:
      return clock_.advance(Duration{step.a % 4});
    case 7:
      return clock_.set(now() + Duration{to_edge + step.a % 3 - 1});
    case 8:
      if (!promised_) return;
      (step.a % 2 == 0 ? reached_.promises_kept : reached_.promises_one_short)++;
      return clock_.set(now() + *promised_ - Duration{step.a % 2});
    case 9:
      return clock_.advance(Duration{window * step.a / kNumbers});
    default:
      return clock_.advance(step.a % 4 == 0 ? Duration{1h} : Duration{window * (1 + step.a % 8)});
  }
}

void CounterHistory::change_limit(const HistoryStep& step) {
  core::Limit& limit = limits_[step.key];
  limit.limit = step.a % 8;
  limit.capacity = limit.limit;
  if (limit.algorithm == core::Algorithm::token_bucket) {
    limit.capacity = step.b % 7;
    constexpr std::array kWindows{7us, 90us, 60us, 1us};
    if (step.a >= kNumbers / 2) limit.window = kWindows[step.b % kWindows.size()];
  }
  ++reached_.limit_changes;
}

std::string CounterHistory::step_clock_back(const HistoryStep& step) {
  if (is_failing()) return {};
  // A store that was killed knows the time of what it has written: this call is written everywhere.
  const std::string wrong = consume({{.key = kTouched, .limit = per(1'000'000, 1us), .cost = 1}}, true);
  if (!wrong.empty()) return wrong;
  taken_.pop_back();
  constexpr std::array<Duration, 6> kSteps{1us, 20us, 3s, 5s, 5s + 1us, 60s};
  clock_.set(seen_ - kSteps[step.a % kSteps.size()]);
  return {};
}

}  // namespace dripgate::testing
