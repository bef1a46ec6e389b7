// What a user writes in code as the config text that says the same, so that words, bounds and checks are
// those of dripgate.yaml. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "dripgate/policy.h"
#include "dripgate/scheduler.h"
#include "dripgate/store.h"
#include "dripgate/vendor.h"

namespace dripgate::embed {

/// One policy a line, from line 2 on: "policies in code:3" is the second.
[[nodiscard]] std::string code_policies(const std::vector<v1::Policy>& policies);
/// A stream with these limits; its topics are never used.
[[nodiscard]] std::string code_stream(const v1::SchedulerOptions& options);

[[nodiscard]] std::string code_vendor(const v1::VendorOptions& options);

/// Errors: invalid_argument, one line per problem.
[[nodiscard]] Result<config::Store> code_store(const std::string& sqlite_path);
[[nodiscard]] Result<config::Store> code_store(const v1::RedisOptions& options);

}  // namespace dripgate::embed
