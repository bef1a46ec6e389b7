// Vendor reader: `vendors:` as core::Vendor. Called by load.cc. Pure.
#pragma once

#include <vector>

#include "config/context.h"
#include "config/yaml_tree.h"

namespace dripgate::config {

inline constexpr std::size_t kVendorsMax = 1'000;

/// All vendors that read well; the others are in the report.
[[nodiscard]] std::vector<core::VendorPtr> read_vendors(const Node& list, Context& context);
/// Streams deliver to vendors that there are, and a vendor's key is one for all of them: it takes no
/// attributes.
void check_vendors_of_streams(const Config& config, const Node& streams, Context& context);

}  // namespace dripgate::config
