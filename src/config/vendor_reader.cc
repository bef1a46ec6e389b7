// Vendor reader: see vendor_reader.h.
#include "config/vendor_reader.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "config/fields.h"
#include "config/limit_reader.h"
#include "config/scalars.h"
#include "config/template_reader.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

using core::Vendor;
using core::VendorPolicy;

const std::string& id_of(const core::VendorPtr& vendor) {
  return vendor->id;
}

constexpr std::array<std::string_view, 10> kVendorKeys{
    "id",        "key",         "limits",        "inFlight",       "profile",
    "freezeCap", "freezeFloor", "syncThreshold", "onStoreFailure", "localShare"};
constexpr std::array<std::string_view, 2> kInFlightKeys{"concurrent", "lease"};
constexpr std::array kFailureModes{named(core::FailureMode::local), named(core::FailureMode::open),
                                   named(core::FailureMode::closed)};
constexpr Duration kLeaseMax = std::chrono::hours{1};
/// Days of a calendar limit are known so far ahead (store/redis/vendor_wire.cc).
constexpr Duration kFreezeCapMax = std::chrono::hours{24};

void read_in_flight(const Node& node, const std::string& what, VendorPolicy& policy, Context& context) {
  const Fields fields(node, "inFlight of " + what, kInFlightKeys, context.report);
  if (!fields.is_map()) return;
  if (const Node* most = fields.require("concurrent", "such as { concurrent: 5, lease: 60s }")) {
    constexpr auto kMost = static_cast<std::int64_t>(core::kPermitsMax);
    policy.concurrent =
        static_cast<int>(read_integer(*most, "concurrent", {1, kMost}, context.report).value_or(1));
  }
  if (const Node* lease = fields.find("lease"))
    policy.lease = read_duration(*lease, "lease", kLeaseMax, context.report).value_or(policy.lease);
}

/// "10%"
void read_threshold(const Node& node, VendorPolicy& policy, Context& context) {
  std::string digits = node.text;
  const bool percent = node.kind == Node::Kind::scalar && digits.ends_with('%');
  if (percent) digits.pop_back();
  const bool number = percent && !digits.empty() && digits.size() <= 2 &&
                      digits.find_first_not_of("0123456789") == std::string::npos;
  if (!number)
    return context.report.error(node.at,
                                "syncThreshold is " + in_quotes(node.text) + "; accepted: 0% to 99%");
  policy.sync_percent = std::stoi(digits);
}

void read_limits_of(const Fields& fields, Vendor& vendor, VendorPolicy& policy, Context& context) {
  const Node* list = fields.find("limits");
  if (list == nullptr) {
    if (!fields.mentions("inFlight"))
      context.report.error(fields.at(), fields.what() +
                                            " has neither limits nor inFlight; accepted: limits: [ { "
                                            "limit: 100, window: 10s } ], inFlight: { concurrent: 5 }");
    return;
  }
  for (const DimensionLimit& one : read_dimension_limits(fields, *list, context)) {
    if (one.limit.algorithm == core::Algorithm::sliding_log) {
      context.report.error(list->at, "algorithm of a limit of " + fields.what() +
                                         " is sliding-log; accepted: fixed-window, token-bucket");
    }
    if (one.limit.max_cost() < 1 || one.limit.limit < 1 || one.limit.max_cost() > core::kVendorUnitsMax) {
      context.report.error(list->at, "a limit of " + fields.what() + " is out of range; accepted: 1 to " +
                                         std::to_string(core::kVendorUnitsMax));
    }
    policy.limits.push_back(one.limit);
    vendor.dimensions.push_back(one.dimension);
  }
}

void read_rules(const Fields& fields, Vendor& vendor, VendorPolicy& policy, Context& context) {
  Report& report = context.report;
  read_limits_of(fields, vendor, policy, context);
  if (const Node* node = fields.find("inFlight")) read_in_flight(*node, fields.what(), policy, context);
  if (const Node* node = fields.find("freezeCap"))
    policy.freeze_cap = read_duration(*node, "freezeCap", kFreezeCapMax, report).value_or(policy.freeze_cap);
  if (const Node* node = fields.find("freezeFloor"))
    policy.freeze_floor =
        read_duration(*node, "freezeFloor", kFreezeCapMax, report).value_or(policy.freeze_floor);
  if (policy.freeze_floor > policy.freeze_cap)
    report.error(fields.mark("freezeFloor"), "freezeFloor of " + fields.what() + " is above its freezeCap");
  if (const Node* node = fields.find("syncThreshold")) read_threshold(*node, policy, context);
}

void read_modes(const Fields& fields, Vendor& vendor, Context& context) {
  if (const Node* node = fields.find("profile")) {
    const auto known = std::ranges::find(core::kVendorProfiles, node->text);
    if (node->kind != Node::Kind::scalar || known == core::kVendorProfiles.end()) {
      context.report.error(node->at, "profile is " + in_quotes(node->text) + "; " +
                                         accepted_words(node->text, core::kVendorProfiles));
    } else {
      vendor.profile = *known;
    }
  }
  if (const Node* node = fields.require("onStoreFailure", "accepted: local, open, closed"))
    vendor.on_store_failure =
        read_word(*node, "onStoreFailure", kFailureModes, context.report).value_or(core::FailureMode::closed);
  if (const Node* node = fields.find("localShare")) {
    vendor.local_share =
        static_cast<int>(read_integer(*node, "localShare", {1, kInstancesMax}, context.report).value_or(1));
    if (vendor.on_store_failure != core::FailureMode::local)
      context.report.error(node->at,
                           "localShare says how onStoreFailure: local decides; another mode takes none");
  }
}

std::optional<core::KeyTemplate> read_key(const Fields& fields, const std::string& id, Context& context) {
  const Node* node = fields.find("key");
  if (node != nullptr) return read_template(*node, "key", context);
  auto whole = core::KeyTemplate::parse(id);  // a name has no braces
  return whole ? std::optional(*std::move(whole)) : std::nullopt;
}

}  // namespace

std::vector<core::VendorPtr> read_vendors(const Node& list, Context& context) {
  std::vector<core::VendorPtr> vendors;
  std::set<std::string> ids;
  for (const Node& item : list_items(list, "vendors", kVendorsMax, context.report)) {
    const std::size_t errors = context.report.errors();
    const Fields fields(item, "a vendor", kVendorKeys, context.report);
    if (!fields.is_map()) continue;
    const Node* id = fields.require("id", "such as id: hubspot");
    const auto name = id == nullptr ? std::nullopt : read_name(*id, "id", context.report);
    if (!name) continue;
    if (!ids.insert(*name).second)
      context.report.error(id->at, "vendor " + in_quotes(*name) + " is there twice");
    auto policy = std::make_shared<VendorPolicy>();
    auto key = read_key(fields, *name, context);
    Vendor vendor{.id = *name, .key = key.value_or(core::KeyTemplate{}), .policy = nullptr, .dimensions = {}};
    read_rules(fields, vendor, *policy, context);
    read_modes(fields, vendor, context);
    if (context.report.errors() != errors) continue;
    vendor.policy = std::move(policy);
    vendors.push_back(std::make_shared<const Vendor>(std::move(vendor)));
  }
  return vendors;
}

void check_vendors_of_streams(const Config& config, const Node& streams, Context& context) {
  for (const StreamSettings& settings : config.streams) {
    const auto* http = std::get_if<HttpDelivery>(&settings.deliver);
    if (http == nullptr || http->vendor.empty()) continue;
    const auto vendor = std::ranges::find(config.vendors, http->vendor, id_of);
    const std::string where =
        "deliver of stream " + in_quotes(settings.stream->id) + " names vendor " + in_quotes(http->vendor);
    if (vendor == config.vendors.end()) {
      std::vector<std::string> known;
      for (const core::VendorPtr& one : config.vendors) known.push_back(one->id);
      context.report.error(streams.at, where + "; accepted: " +
                                           (known.empty() ? "none, the file has no vendors" : joined(known)));
    }
  }
}

}  // namespace dripgate::config
