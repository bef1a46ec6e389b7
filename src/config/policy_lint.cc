// Policy lint: see policy_lint.h.
#include "config/policy_lint.h"

#include <algorithm>
#include <string>

#include "base/limits.h"
#include "config/pattern.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

struct Candidate {
  const core::Policy* policy;
  Mark at;
  std::string scope;  // in force: stated, else the first key part
  std::vector<CompiledTerm> terms;
};

// One request can carry both unless they ask different things of the same name.
bool can_meet(const Candidate& a, const Candidate& b) {
  for (const CompiledTerm& left : a.terms) {
    for (const CompiledTerm& right : b.terms) {
      if (left.name == right.name && !overlap(left, right)) return false;
    }
  }
  return true;
}

std::string scope_in_force(const core::Policy& policy) {
  if (!policy.scope.empty()) return policy.scope;
  return policy.key.empty() ? std::string() : policy.key.front().name;
}

std::string shown_scope(const Candidate& c) {
  return c.scope.empty() ? "no scope" : "scope " + in_quotes(c.scope);
}

void warn_of_scopes(const std::vector<Candidate>& candidates, Report& report) {
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    const Candidate& mine = candidates[i];
    const auto earlier = std::ranges::find_if(
        candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const Candidate& other) { return other.scope != mine.scope && can_meet(other, mine); });
    if (earlier == candidates.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    report.warning(mine.at,
                   "policy " + in_quotes(mine.policy->id) + " has " + shown_scope(mine) + ", policy " +
                       in_quotes(earlier->policy->id) + " has " + shown_scope(*earlier) +
                       ", and one request can match both: they are asked in turn, and a later denial "
                       "refunds the earlier ones; the same scope in both makes them one question");
  }
}

void refuse_too_many_charges(const std::vector<Candidate>& candidates, Report& report) {
  std::size_t charges = 0;
  for (const Candidate& c : candidates) {
    if (!c.terms.empty()) continue;
    const bool fitted = charges <= kChargesPerRequestMax;
    charges += c.policy->limits.size();
    if (fitted && charges > kChargesPerRequestMax) {
      report.error(c.at, "policies without match give every request more than " +
                             std::to_string(kChargesPerRequestMax) + " limits; accepted: at most that many");
    }
  }
}

}  // namespace

void lint_policies(const std::vector<PlacedPolicy>& policies, Report& report) {
  std::vector<Candidate> candidates;
  for (const auto& [policy, at] : policies) {
    Candidate candidate{policy.get(), at, scope_in_force(*policy), {}};
    for (const core::MatchTerm& term : policy->match) candidate.terms.push_back(compile(term));
    candidates.push_back(std::move(candidate));
  }
  warn_of_scopes(candidates, report);
  refuse_too_many_charges(candidates, report);
}

}  // namespace dripgate::config
