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
  return config::override_for(policy, core::counted_value(first, value->second));
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

/// The counter is named by the window: the same key with and without a limit of its own, or with one per
/// minute and one per hour, must not take turns on one state.
void put_limit(std::vector<PlannedPolicy>& planned, const std::shared_ptr<const core::Limit>& limit) {
  for (PlannedPolicy& policy : planned) {
    if (policy.role != Role::enforced && policy.role != Role::shadow) continue;
    policy.override = nullptr;
    policy.own_limit = limit;
    policy.limits = std::span(limit.get(), 1);
    policy.keys = {policy.keys.front() + ":#" + std::to_string(limit->window.count()) + "us"};
    return;
  }
}

}  // namespace

std::vector<PlannedPolicy> plan(const config::Config& config, const core::Descriptor& descriptor,
                                const std::shared_ptr<const core::Limit>& own_limit) {
  const config::Matched matched = config.matcher->match(descriptor);
  std::vector<PlannedPolicy> planned;
  planned.reserve(matched.size());
  for (const core::Policy* policy : matched) planned.push_back(plan_one(*policy, descriptor));
  if (own_limit != nullptr) put_limit(planned, own_limit);
  return planned;
}

}  // namespace dripgate::check
