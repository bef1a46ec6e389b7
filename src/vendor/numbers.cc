#include "vendor/numbers.h"

#include <algorithm>
#include <charconv>

namespace dripgate::vendor {
namespace {

constexpr std::string_view kUnknownPermit = "id: accepted: the id of an allowed acquire";

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words)
    if (!out.contains(word)) out.append(out.empty() ? "" : ", ").append(word);
  return out;
}

std::optional<std::size_t> place_of(const core::Vendor& vendor, const Report& report) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < vendor.dimensions.size(); ++i) {
    if (vendor.dimensions[i] != report.dimension) continue;
    const core::Limit& limit = vendor.policy->limits[i];
    if (report.window && limit.algorithm == core::Algorithm::fixed_window) {
      if (limit.window == *report.window) return i;
      continue;
    }
    if (report.limit && limit.max_cost() == *report.limit) return i;
    // Else what the vendor speaks of is taken for the shortest.
    if (!found || limit.window < vendor.policy->limits[*found].window) found = i;
  }
  return found;
}

bool of_this_key(const Reading& reading, const ObserveCall& call) {
  if (reading.resource.empty()) return true;
  const auto named = call.attributes.find("resource");
  return named == call.attributes.end() ? reading.resource == "core" : named->second == reading.resource;
}

}  // namespace

Result<core::VendorCosts> costs_of(const core::Vendor& vendor, const Costs& costs) {
  core::VendorCosts by_limit{};
  for (const auto& [dimension, units] : costs) {
    if (dimension != core::kRequestsDimension &&
        std::ranges::find(vendor.dimensions, dimension) == vendor.dimensions.end())
      return fail(ErrorCode::invalid_argument, "cost: vendor '" + vendor.id + "' has no limit on '" +
                                                   dimension + "'; accepted: " + joined(vendor.dimensions));
    if (units < 0 || units > core::kVendorUnitsMax)
      return fail(ErrorCode::invalid_argument,
                  "cost of " + dimension + ": accepted: 0 to " + std::to_string(core::kVendorUnitsMax));
  }
  for (std::size_t i = 0; i < vendor.dimensions.size(); ++i) {
    const auto stated = costs.find(vendor.dimensions[i]);
    const bool requests = vendor.dimensions[i] == core::kRequestsDimension;
    by_limit[i] = stated != costs.end() ? stated->second : requests ? 1 : 0;
  }
  return by_limit;
}

Result<core::VendorObservation> observation_of(const core::Vendor& vendor, const Reading& reading,
                                               const ObserveCall& call) {
  core::VendorObservation seen;
  if (reading.answered) seen.verdict = core::VendorVerdict::answered;
  if (reading.refusal == Refusal::rate) seen.verdict = core::VendorVerdict::refused;
  if (reading.refusal == Refusal::concurrency) seen.verdict = core::VendorVerdict::concurrency;
  seen.freeze = reading.retry_after.value_or(Duration{0});
  seen.sent = call.sent;
  if (!call.id.empty()) {
    const auto permit = read_permit(call.id);
    if (!permit) return fail(ErrorCode::invalid_argument, std::string(kUnknownPermit));
    if (permit->of != PermitOf::nobody) seen.permit = permit->id;
  }
  if (auto valid = costs_of(vendor, call.actual); !valid) return std::unexpected(valid.error());
  for (std::size_t i = 0; i < vendor.dimensions.size(); ++i) {
    const auto actual = call.actual.find(vendor.dimensions[i]);
    if (actual != call.actual.end()) seen.limits[i].actual = actual->second;
  }
  if (!of_this_key(reading, call)) return seen;
  for (const Report& report : reading.reports) {
    const auto place = place_of(vendor, report);
    if (!place || !report.remaining) continue;
    core::VendorObservation::OfLimit& limit = seen.limits[*place];
    limit.remaining = std::min(*report.remaining, core::kVendorUnitsMax);
    if (!report.reset) continue;
    limit.hold = report.reset->wait;
    limit.resolution = report.reset->resolution;
  }
  return seen;
}

std::string permit_text(const NamedPermit& permit) {
  std::string text(1, static_cast<char>(permit.of));
  if (permit.of == PermitOf::nobody) return text;
  return text + std::to_string(permit.id.number) + "-" + std::to_string(to_us(permit.id.acquired));
}

std::optional<NamedPermit> read_permit(std::string_view text) {
  if (text == "o") return NamedPermit{};
  if (text.size() < 2 || (text.front() != 's' && text.front() != 'l')) return std::nullopt;
  NamedPermit permit{.of = static_cast<PermitOf>(text.front()), .id = {}};
  std::int64_t acquired = 0;
  const char* end = text.data() + text.size();
  const auto number = std::from_chars(text.data() + 1, end, permit.id.number);
  if (number.ec != std::errc{} || number.ptr == end || *number.ptr != '-') return std::nullopt;
  const auto time = std::from_chars(number.ptr + 1, end, acquired);
  if (time.ec != std::errc{} || time.ptr != end || acquired < 0 || acquired >= kExactIntegerMax ||
      permit.id.number == 0 || permit.id.number >= static_cast<std::uint64_t>(kExactIntegerMax))
    return std::nullopt;
  permit.id.acquired = from_us(acquired);
  return permit;
}

}  // namespace dripgate::vendor
