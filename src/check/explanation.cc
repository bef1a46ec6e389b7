#include "check/explanation.h"

#include <algorithm>

#include "config/pattern.h"
#include "core/counter_key.h"

namespace dripgate::check {
namespace {

/// Null: no policy counts this name as a secret.
const core::KeyPart* secret_part(const config::Config& config, const std::string& name) {
  for (const core::PolicyPtr& policy : config.policies) {
    const auto part =
        std::ranges::find_if(policy->key, [&](const auto& p) { return p.secret && p.name == name; });
    if (part != policy->key.end()) return &*part;
  }
  return nullptr;
}

std::vector<std::string> shown(const config::Config& config, const core::MatchTerm& term) {
  std::vector<std::string> patterns = term.patterns;
  if (const core::KeyPart* part = secret_part(config, term.name)) {
    for (std::string& pattern : patterns)
      if (pattern != "*") pattern = core::counted_value(*part, pattern);
  }
  return patterns;
}

}  // namespace

std::vector<Mismatch> mismatches(const config::Config& config, const core::Descriptor& descriptor) {
  std::vector<Mismatch> others;
  for (const core::PolicyPtr& policy : config.policies) {
    for (const core::MatchTerm& term : policy->match) {
      const auto value = descriptor.find(term.name);
      if (value != descriptor.end() && config::matches(config::compile(term), value->second)) continue;
      others.push_back({policy.get(), term.name, shown(config, term)});
      break;
    }
  }
  return others;
}

}  // namespace dripgate::check
