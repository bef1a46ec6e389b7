// Words into numbers: costs by dimension as costs by limit, reports by dimension and window as reports by
// limit, permit ids. Pure. Used by vendors.
#pragma once

#include "vendor/vendors.h"

namespace dripgate::vendor {

/// Errors: invalid_argument.
[[nodiscard]] Result<core::VendorCosts> costs_of(const core::Vendor& vendor, const Costs& costs);
[[nodiscard]] Result<core::VendorObservation> observation_of(const core::Vendor& vendor,
                                                             const Reading& reading, const ObserveCall& call);

/// Where a permit was given.
enum class PermitOf : char { store = 's', local = 'l', nobody = 'o' };
struct NamedPermit {
  PermitOf of = PermitOf::nobody;
  core::PermitId id;
};
/// "s17-1800000000000000"
[[nodiscard]] std::string permit_text(const NamedPermit& permit);
[[nodiscard]] std::optional<NamedPermit> read_permit(std::string_view text);

}  // namespace dripgate::vendor
