// Limit reader: the ways to write limits, the same in a policy, an override and a stream: inline (limit +
// window, capacity + refillPer*) or as a `limits` list. Called by the policy and stream readers. Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "config/context.h"
#include "config/fields.h"
#include "core/limit.h"

namespace dripgate::config {

/// Largest count a limit may name: what every store can hold of one key (48 bits, exact in a double too).
inline constexpr core::Units kLimitUnitsMax = (core::Units{1} << 48) - 1;
inline constexpr Duration kWindowMax = std::chrono::hours{24 * 366};

/// The keys about limits that a policy, an override or a stream accepts beside its own.
inline constexpr std::array<std::string_view, 10> kLimitKeys{
    "limits",   "algorithm",       "limit",           "window",        "timezone",
    "capacity", "refillPerSecond", "refillPerMinute", "refillPerHour", "refillPerDay"};

/// A limit of a vendor, with what it counts ("requests" unless it says `dimension`).
struct DimensionLimit {
  core::Limit limit;
  std::string dimension;
};
/// The items of a vendor's `limits`.
[[nodiscard]] std::vector<DimensionLimit> read_dimension_limits(const Fields& fields, const Node& list,
                                                                Context& context);

/// All limits of a mapping. Empty: none that is right, and the report says why.
[[nodiscard]] std::vector<core::Limit> read_limits(const Fields& fields, Context& context);

}  // namespace dripgate::config
