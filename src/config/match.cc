// Matcher: see match.h.
#include "config/match.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "config/match_index.h"
#include "config/pattern.h"

namespace dripgate::config {
namespace {

struct Compiled {
  core::PolicyPtr policy;
  std::vector<CompiledTerm> terms;
};

auto specificity(const Compiled& entry) {
  std::size_t exact = 0;
  std::size_t literal = 0;
  for (const CompiledTerm& term : entry.terms) {
    exact += is_exact(term) ? 1 : 0;
    literal += literal_bytes(term);
  }
  return std::tuple(entry.terms.size(), exact, literal);
}

bool before(const Compiled& a, const Compiled& b) {
  const auto left = specificity(a);
  const auto right = specificity(b);
  return left != right ? left > right : a.policy->id < b.policy->id;
}

// How many policies use each pattern: the fewer share it, the more it tells.
using Uses = std::map<std::pair<std::string, std::string>, std::size_t>;

Uses count_uses(const std::vector<core::PolicyPtr>& policies) {
  Uses uses;
  for (const auto& policy : policies) {
    for (const core::MatchTerm& term : policy->match) {
      for (const std::string& pattern : term.patterns) ++uses[{term.name, pattern}];
    }
  }
  return uses;
}

std::size_t expected_requests(const core::MatchTerm& term, const Uses& uses) {
  constexpr std::size_t kOpenFactor = 4;  // a prefix or placeholder is met by more values than one
  std::size_t cost = 0;
  for (const std::string& pattern : term.patterns) {
    if (pattern == "*") return std::numeric_limits<std::size_t>::max();
    const bool open = pattern.find_first_of("*{") != std::string::npos;
    cost += uses.at({term.name, pattern}) * (open ? kOpenFactor : 1);
  }
  return cost;
}

// The term by which a policy is found; null: it has none.
const CompiledTerm* most_selective(const Compiled& entry, const Uses& uses) {
  const CompiledTerm* best = nullptr;
  std::size_t best_cost = 0;
  for (std::size_t i = 0; i < entry.terms.size(); ++i) {
    const std::size_t cost = expected_requests(entry.policy->match[i], uses);
    if (best != nullptr && cost >= best_cost) continue;
    best = &entry.terms[i];
    best_cost = cost;
  }
  return best;
}

bool takes(const Compiled& entry, const core::Descriptor& request) {
  return std::ranges::all_of(entry.terms, [&](const CompiledTerm& term) {
    const auto value = request.find(term.name);
    return value != request.end() && matches(term, value->second);
  });
}

}  // namespace

struct Matcher::Index {
  std::vector<Compiled> entries;  // by specificity
  MatchIndex by_term;
};

Matcher::Matcher(const std::vector<core::PolicyPtr>& policies) {
  auto index = std::make_unique<Index>();
  for (const auto& policy : policies) {
    Compiled entry{policy, {}};
    for (const core::MatchTerm& term : policy->match) entry.terms.push_back(compile(term));
    index->entries.push_back(std::move(entry));
  }
  std::ranges::sort(index->entries, before);
  const Uses uses = count_uses(policies);
  for (Rank rank = 0; rank < index->entries.size(); ++rank) {
    index->by_term.add(most_selective(index->entries[rank], uses), rank);
  }
  index_ = std::move(index);
}

Matcher::~Matcher() = default;

Matched Matcher::match(const core::Descriptor& request) const {
  Matched matched;
  for (const Rank rank : index_->by_term.find(request)) {
    const Compiled& entry = index_->entries[rank];
    if (takes(entry, request)) matched.push_back(entry.policy.get());
  }
  return matched;
}

const core::Override* override_for(const core::Policy& policy, std::string_view value) {
  const core::Override* best = nullptr;
  std::size_t best_length = 0;
  for (const core::Override& candidate : policy.overrides) {
    if (candidate.value == value) return &candidate;
    if (!candidate.value.ends_with('*')) continue;
    const std::string_view prefix = std::string_view(candidate.value).substr(0, candidate.value.size() - 1);
    if (value.empty() || !value.starts_with(prefix)) continue;
    if (best != nullptr && prefix.size() <= best_length) continue;
    best = &candidate;
    best_length = prefix.size();
  }
  return best;
}

}  // namespace dripgate::config
