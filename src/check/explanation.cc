#include "check/explanation.h"

#include "config/pattern.h"

namespace dripgate::check {

std::vector<Mismatch> mismatches(const config::Config& config, const core::Descriptor& descriptor) {
  std::vector<Mismatch> others;
  for (const core::PolicyPtr& policy : config.policies) {
    for (const core::MatchTerm& term : policy->match) {
      const auto value = descriptor.find(term.name);
      if (value != descriptor.end() && config::matches(config::compile(term), value->second)) continue;
      others.push_back({policy.get(), term.name, term.patterns});
      break;
    }
  }
  return others;
}

}  // namespace dripgate::check
