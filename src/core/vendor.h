// Vendor: one outbound quota as configured: whose key, which limits of which dimension, how its headers read.
// Immutable once in a snapshot.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/decision.h"
#include "core/key_template.h"
#include "core/vendor_bucket.h"

namespace dripgate::core {

/// What a limit counts unless it says so.
inline constexpr std::string_view kRequestsDimension = "requests";
/// Largest limit, capacity or cost of a vendor: percents of it stay exact in every store.
inline constexpr Units kVendorUnitsMax = 1'000'000'000'000;
/// The header forms that the vendor room knows (vendor/profile.cc; its tests compare both).
inline constexpr std::array<std::string_view, 23> kVendorProfiles{
    "anthropic", "apisix",     "azure-arm", "azure-openai", "brevo",  "cloudflare", "discord",    "generic",
    "github",    "google",     "hubspot",   "jira",         "kong",   "lemlist",    "mailerlite", "openai",
    "prisjakt",  "salesforce", "shopify",   "slack",        "stripe", "x",          "zendesk"};

struct Vendor {
  std::string id;
  KeyTemplate key;  // names are attributes of the call
  VendorPolicyPtr policy;
  std::vector<std::string> dimensions;  // by limit
  std::string profile = "generic";
  FailureMode on_store_failure = FailureMode::closed;
  int local_share = 1;  // local: one part in so many at most, however few instances are counted
};
using VendorPtr = std::shared_ptr<const Vendor>;

}  // namespace dripgate::core
