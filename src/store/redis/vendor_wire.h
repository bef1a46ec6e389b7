// The arguments and replies of lua/vendor_*.lua. Pure. Used by redis/vendor_store.
#pragma once

#include <string>
#include <string_view>

#include "core/vendor_bucket.h"

namespace dripgate::store {

/// What a script replied, with its own word on what is wrong.
enum class VendorTrouble : std::uint8_t { none, other_format, stepped_back, needs_days };

template <class Answer>
struct VendorReply {
  VendorTrouble trouble = VendorTrouble::none;
  WallTime time;  // Redis' own
  Answer answer;
};

/// `floor`: the latest time seen of the node; `around`: a time near the store's now, for the days of a
/// calendar window. Then come the bytes of the call: one argument in all.
[[nodiscard]] std::string pack_vendor_policy(const core::VendorPolicy& policy, WallTime floor,
                                             WallTime around);
[[nodiscard]] std::string pack_vendor_costs(const core::VendorPolicy& policy, const core::VendorCosts& costs);
[[nodiscard]] std::string pack_observation(const core::VendorPolicy& policy,
                                           const core::VendorObservation& seen);
/// Error: corrupt.
[[nodiscard]] Result<VendorReply<core::VendorGrant>> read_vendor_grant(std::string_view reply);
[[nodiscard]] Result<VendorReply<core::VendorEffect>> read_vendor_effect(std::string_view reply);

}  // namespace dripgate::store
