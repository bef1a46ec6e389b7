// Plan: which policies one request takes and what they ask of the store. Pure: config and request in, keys
// and limits out. Used by the Checker, and by explain.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/policy.h"

namespace dripgate::check {

/// How a policy takes part in one request.
enum class Role : std::uint8_t {
  enforced,
  shadow,     // evaluated and counted, never denies
  unlimited,  // the policy or the override of this value has no limit
  skipped,    // a key part is missing and the policy says skip
  refuses,    // a key part is missing and the policy says deny
};

struct PlannedPolicy {
  const core::Policy* policy = nullptr;  // of the config
  Role role = Role::enforced;
  std::span<const core::Limit> limits{};     // in force: the policy's or its override's; empty: unlimited
  const core::Override* override = nullptr;  // that counts; null: none
  std::shared_ptr<const core::Limit> own_limit{};  // the request's: `limits` is this one; null: none
  std::vector<std::string> keys{};                 // counter keys, one per limit
  std::vector<std::string> missing{};              // names of key parts that the request does not have
};

/// Every policy that matches, the most specific first. `own_limit`: of the request (check.h), or null.
[[nodiscard]] std::vector<PlannedPolicy> plan(const config::Config& config,
                                              const core::Descriptor& descriptor,
                                              const std::shared_ptr<const core::Limit>& own_limit = nullptr);

}  // namespace dripgate::check
