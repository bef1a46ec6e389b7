#include "check/plan.h"

#include "config/match.h"
#include "core/counter_key.h"

namespace dripgate::check {
namespace {

/// By the first key part, which a request without it cannot have.
const core::Override* override_of(const core::Policy& policy, const core::Descriptor& descriptor) {
  if (policy.overrides.empty() || policy.key.empty()) return nullptr;
  const core::KeyPart& first = policy.key.front();
  const auto value = descriptor.find(first.name);
  if (value == descriptor.end()) return nullptr;
  return config::override_for(policy, core::key_part_value(first, value->second));
}

Role role_of(const core::Policy& policy, const PlannedPolicy& planned) {
  if (planned.limits.empty()) return Role::unlimited;
  if (!planned.missing.empty() && policy.on_missing_key == core::MissingKey::skip) return Role::skipped;
  if (policy.shadow) return Role::shadow;
  if (!planned.missing.empty() && policy.on_missing_key == core::MissingKey::deny) return Role::refuses;
  return Role::enforced;
}

PlannedPolicy plan_one(const core::Policy& policy, const core::Descriptor& descriptor) {
  PlannedPolicy planned{.policy = &policy};
  planned.override = override_of(policy, descriptor);
  planned.limits = planned.override != nullptr ? planned.override->limits : policy.limits;
  auto counted = core::counter_keys(policy, descriptor, planned.limits.size());
  planned.keys = std::move(counted.keys);
  planned.missing = std::move(counted.missing);
  planned.role = role_of(policy, planned);
  return planned;
}

}  // namespace

std::vector<PlannedPolicy> plan(const config::Config& config, const core::Descriptor& descriptor) {
  std::vector<PlannedPolicy> planned;
  for (const core::Policy* policy : config.matcher->match(descriptor))
    planned.push_back(plan_one(*policy, descriptor));
  return planned;
}

}  // namespace dripgate::check
