// The one spelling in which requests bring method, path, route and host (check/route.h, forward-auth): a
// pattern in another spelling never matches, and its policy is silently absent. Used by the policy reader to
// warn. Pure.
#pragma once

#include <string>
#include <string_view>

namespace dripgate::config {

/// How requests would spell what this pattern of `name` asks for; the pattern itself where nothing is amiss.
[[nodiscard]] std::string spelled(std::string_view name, std::string_view pattern);

}  // namespace dripgate::config
