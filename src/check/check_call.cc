// The last step of every way is `done_`: it may destroy the owner.
#include "check/check_call.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "core/check.h"
#include "core/counter_key.h"

namespace dripgate::check {

using core::FailureMode;
using core::Verdict;

CheckCall::CheckCall(Checker& owner, Request request, Done<Answer> done)
    : owner_(owner),
      request_(std::move(request)),
      done_(std::move(done)),
      began_(owner.context_.clock.now()) {
  answer_.config = owner_.context_.config();
  answer_.now = began_;
}

void CheckCall::start() {
  std::vector<PlannedPolicy> planned_policies = plan(*answer_.config, request_.descriptor, request_.limit);
  answer_.policies.reserve(planned_policies.size());
  for (PlannedPolicy& planned : planned_policies) answer_.policies.push_back({.plan = std::move(planned)});
  if (refused_by_missing_key()) return finish();
  take_replays();
  shadows_ = with_role(Role::shadow);
  Members enforced = with_role(Role::enforced);
  if (enforced.empty()) return ask_shadows(0);
  ask(enforced, [this, enforced](Result<core::Decision> decision) {
    if (!decision) {
      give_replays_back();
      return done_(std::unexpected(std::move(decision).error()));
    }
    take(enforced, *decision);
    decision->verdict == Verdict::allow ? ask_shadows(0) : conclude();
  });
}

bool CheckCall::refused_by_missing_key() {
  const auto refusing =
      std::ranges::find(answer_.policies, Role::refuses, [](const auto& p) { return p.plan.role; });
  if (refusing == answer_.policies.end()) return false;
  answer_.kind = Kind::missing_key;
  answer_.decisive = static_cast<std::size_t>(refusing - answer_.policies.begin());
  return true;
}

CheckCall::Members CheckCall::with_role(Role role) const {
  Members members;
  for (std::size_t i = 0; i < answer_.policies.size(); ++i) {
    const PolicyAnswer& policy = answer_.policies[i];
    if (policy.plan.role == role && !policy.replayed) members.push_back(i);
  }
  return members;
}

/// A shadow policy has no say while its store is away.
store::GuardedCharges CheckCall::charges_of(const Members& members) const {
  store::GuardedCharges charges;
  charges.reserve(members.size());
  for (const std::size_t place : members) {
    const PlannedPolicy& plan = answer_.policies[place].plan;
    const core::Policy& policy = *plan.policy;
    for (std::size_t i = 0; i < plan.limits.size(); ++i) {
      charges.push_back(
          {.charge = {plan.keys[i], plan.limits[i], request_.cost},
           .on_store_failure = plan.role == Role::shadow ? FailureMode::open : policy.on_store_failure,
           .local_share = policy.local_share});
    }
  }
  return charges;
}

template <class Then>
void CheckCall::ask(const Members& members, Then then) {
  store::GuardedCharges charges = charges_of(members);
  store::GuardedStore& store = owner_.context_.store;
  auto heard =
      owner_.guard_.wrap([self = shared_from_this(), then = std::move(then)](
                             Result<core::Decision> decision) mutable { then(std::move(decision)); });
  request_.peek ? store.peek(std::move(charges), std::move(heard))
                : store.consume(std::move(charges), std::move(heard));
}

void CheckCall::take(const Members& members, const core::Decision& decision) {
  if (!std::exchange(decided_, true)) answer_.now = decision.now;
  std::size_t next = 0;
  for (const std::size_t place : members) {
    PolicyAnswer& policy = answer_.policies[place];
    core::Decision own;
    const std::size_t count = policy.plan.limits.size();
    own.outcomes.assign(decision.outcomes.begin() + static_cast<std::ptrdiff_t>(next),
                        decision.outcomes.begin() + static_cast<std::ptrdiff_t>(next + count));
    core::judge(own);
    policy.decisive = own.decisive;
    policy.outcomes = std::move(own.outcomes);
    next += count;
  }
}

void CheckCall::ask_shadows(std::size_t next) {
  if (next == shadows_.size()) return conclude();
  const Members one{shadows_[next]};
  ask(one, [this, one, next](const Result<core::Decision>& decision) {
    if (decision) take(one, *decision);  // the request is allowed, whatever is wrong with a trial
    ask_shadows(next + 1);
  });
}

void CheckCall::conclude() {
  core::Decision decision;  // one outcome per enforced policy that was asked
  Members asked;
  for (std::size_t i = 0; i < answer_.policies.size(); ++i) {
    const PolicyAnswer& policy = answer_.policies[i];
    if (policy.plan.role != Role::enforced || policy.outcomes.empty()) continue;
    asked.push_back(i);
    decision.outcomes.push_back(policy.outcomes[policy.decisive]);
  }
  if (!asked.empty()) {
    core::judge(decision);
    answer_.degraded = decision.degraded();
    judge(decision, asked[decision.decisive]);
  }
  finish();
}

/// `place`: the policy of the decisive outcome.
void CheckCall::judge(const core::Decision& decision, std::size_t place) {
  const core::LimitOutcome& decisive = decision.outcomes[decision.decisive];
  if (decision.verdict != Verdict::allow || decisive.has_numbers) answer_.decisive = place;
  if (decision.verdict == Verdict::impossible) {
    answer_.kind = Kind::impossible;
  } else if (decision.unavailable()) {
    answer_.kind = Kind::unavailable;
    answer_.retry_after = kStoreBackWait;
  } else if (decision.verdict == Verdict::deny) {
    answer_.kind = Kind::denied;
    answer_.retry_after = decisive.retry_after;
    const PolicyAnswer& policy = answer_.policies[place];
    const bool ever = policy.plan.limits[policy.decisive].max_cost() > 0;
    if (ever && !answer_.retry_after && decisive.degraded == FailureMode::local)
      answer_.retry_after = kStoreBackWait;
  }
}

void CheckCall::take_replays() {
  if (request_.idempotency_key.empty() || request_.peek) return;
  for (PolicyAnswer& policy : answer_.policies) {
    if (policy.plan.role != Role::enforced || !policy.plan.policy->idempotency) continue;
    std::string name = replay_name(policy);
    auto taken = owner_.replays_.take(name, began_);
    if (!taken) continue;
    taken_replays_.push_back({std::move(name), taken->allow});
    core::Decision own{.now = {}, .outcomes = std::move(taken->outcomes)};
    core::judge(own);
    policy.replayed = true;
    policy.decisive = own.decisive;
    policy.outcomes = std::move(own.outcomes);
  }
}

void CheckCall::give_replays_back() {
  for (const TakenReplay& taken : taken_replays_) owner_.replays_.give_back(taken.name, taken.allow);
}

void CheckCall::remember() {
  if (request_.idempotency_key.empty() || request_.peek) return;
  for (const PolicyAnswer& policy : answer_.policies) {
    const auto& rule = policy.plan.policy->idempotency;
    if (policy.plan.role != Role::enforced || !rule || policy.replayed || policy.outcomes.empty()) continue;
    owner_.replays_.remember(replay_name(policy), policy.outcomes, rule->max_replays, began_ + rule->ttl);
  }
}

std::string CheckCall::replay_name(const PolicyAnswer& policy) const {
  return check::replay_name(policy.plan.keys.front(), policy.plan.limits, request_.cost,
                            core::escape_key_value(request_.idempotency_key));
}

void CheckCall::finish() {
  if (answer_.allowed()) {
    remember();
    if (request_.refundable && !request_.peek)
      answer_.refund_id = owner_.refund_ids_.make(answer_, request_.cost, request_.idempotency_key);
  } else {
    give_replays_back();
  }
  if (!request_.peek) owner_.context_.observer.on_decision(answer_, owner_.context_.clock.now() - began_);
  done_(std::move(answer_));
}

}  // namespace dripgate::check
