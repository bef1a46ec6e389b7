#include "rls/joint.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/decision.h"

namespace dripgate::rls {
namespace {

using check::Answer;
using check::Kind;
using check::PolicyAnswer;

/// What the caller sees of an answer that is given back.
void show_given_back(Answer& answer, core::Units cost) {
  for (PolicyAnswer& policy : answer.policies) {
    if (policy.replayed) continue;
    for (std::size_t i = 0; i < policy.outcomes.size(); ++i) {
      core::LimitOutcome& outcome = policy.outcomes[i];
      if (outcome.degraded || !outcome.has_numbers || outcome.verdict != core::Verdict::allow) continue;
      outcome.remaining = std::min(policy.plan.limits[i].max_cost(), outcome.remaining + cost);
    }
  }
}

struct Asking {
  Asking(server::GateService& to, Done<Answers> then) : gate(to), done(std::move(then)) {}

  void hear(std::size_t place, Result<Answer> answer) {
    if (answer) {
      answers[place] = *std::move(answer);
    } else if (!error || place < error->first) {
      error.emplace(place, std::move(answer).error());
    }
    if (--open > 0) return;
    const bool refused = !std::ranges::all_of(answers, &Answer::allowed);
    if (error || refused) give_back();
    error ? done(std::unexpected(std::move(error->second))) : done(std::move(answers));
  }

  void give_back() {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      Answer& answer = answers[i];
      if (answer.refund_id.empty()) continue;
      show_given_back(answer, costs[i]);
      gate.refund(std::exchange(answer.refund_id, {}), [](const Result<bool>&) {});
    }
  }

  server::GateService& gate;
  Done<Answers> done;
  Answers answers;
  std::vector<core::Units> costs;
  std::size_t open = 0;
  std::optional<std::pair<std::size_t, Error>> error;
};

/// 0: allowed; the higher, the sooner it decides (as core/check.h judges outcomes).
int severity(Kind kind) {
  switch (kind) {
    case Kind::allowed:
      return 0;
    case Kind::denied:
      return 1;
    case Kind::impossible:
      return 2;
    case Kind::missing_key:
      return 3;
    case Kind::unavailable:
      return 4;
  }
  return 0;
}

const core::LimitOutcome* numbers_of(const Answer& answer) {
  return answer.deciding() == nullptr ? nullptr : answer.deciding()->numbers();
}

bool decides(const Answer& a, const Answer& b) {
  if (severity(a.kind) != severity(b.kind)) return severity(a.kind) > severity(b.kind);
  if (!a.allowed())
    return a.retry_after.value_or(core::kNeverResets) > b.retry_after.value_or(core::kNeverResets);
  const core::LimitOutcome* of_a = numbers_of(a);
  const core::LimitOutcome* of_b = numbers_of(b);
  if (of_a == nullptr || of_b == nullptr) return of_a != nullptr && of_b == nullptr;
  return of_a->remaining < of_b->remaining;
}

/// A refusal is degraded by what refused; an allow by the strictest mode of all (closed < local < open).
std::optional<core::FailureMode> degraded(std::span<const Answer> answers, const Answer& deciding) {
  if (!deciding.allowed()) return deciding.degraded;
  const auto rank = [](core::FailureMode mode) {
    return mode == core::FailureMode::closed ? 0 : mode == core::FailureMode::local ? 1 : 2;
  };
  std::optional<core::FailureMode> strictest;
  for (const Answer& answer : answers)
    if (answer.degraded && (!strictest || rank(*answer.degraded) < rank(*strictest)))
      strictest = answer.degraded;
  return strictest;
}

bool same_limits(const PolicyAnswer& a, const PolicyAnswer& b) {
  return a.plan.policy == b.plan.policy && a.plan.override == b.plan.override &&
         a.plan.own_limit == nullptr && b.plan.own_limit == nullptr;
}

}  // namespace

void ask_all(server::GateService& gate, Requests requests, Done<Answers> done) {
  if (requests.size() == 1) {
    requests.front().refundable = false;  // there is no other whose refusal gives it back
    return gate.check(std::move(requests.front()), [done = std::move(done)](Result<Answer> answer) mutable {
      if (!answer) return done(std::unexpected(std::move(answer).error()));
      Answers one;
      one.push_back(*std::move(answer));
      done(std::move(one));
    });
  }
  auto asking = std::make_shared<Asking>(gate, std::move(done));
  asking->answers.resize(requests.size());
  asking->open = requests.size();
  for (const check::Request& request : requests) asking->costs.push_back(request.cost);
  for (std::size_t i = 0; i < requests.size(); ++i)
    gate.check(std::move(requests[i]),
               [asking, i](Result<Answer> answer) { asking->hear(i, std::move(answer)); });
}

Answer joined(std::span<const Answer> answers) {
  std::size_t first = 0;
  for (std::size_t i = 1; i < answers.size(); ++i)
    if (decides(answers[i], answers[first])) first = i;
  Answer whole = answers[first];
  whole.degraded = degraded(answers, answers[first]);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (i == first) continue;
    for (const PolicyAnswer& policy : answers[i].policies) {
      const bool seen =
          std::ranges::any_of(whole.policies, [&](const auto& other) { return same_limits(other, policy); });
      if (!seen) whole.policies.push_back(policy);
    }
  }
  return whole;
}

}  // namespace dripgate::rls
