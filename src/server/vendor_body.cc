#include "server/vendor_body.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "core/names.h"
#include "server/body.h"
#include "server/render.h"

namespace dripgate::server {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kAttributesMax = 64;
constexpr std::size_t kReasonBytesMax = 1024;

std::unexpected<Error> refuse(std::string detail) {
  return fail(ErrorCode::invalid_argument, std::move(detail));
}

Result<std::string> read_vendor_name(const json& body) {
  const auto name = body.find("vendor");
  if (name == body.end() || !name->is_string() || name->get_ref<const std::string&>().empty())
    return refuse("vendor: accepted: the id of a vendor, such as \"hubspot\"");
  return name->get<std::string>();
}

Result<core::Descriptor> read_facts(const json& body) {
  core::Descriptor facts;
  const auto given = body.find("attributes");
  if (given == body.end()) return facts;
  if (!given->is_object()) return refuse("attributes: accepted: an object, such as {\"portal\":\"42\"}");
  if (given->size() > kAttributesMax)
    return refuse("attributes: accepted: at most " + std::to_string(kAttributesMax));
  for (const auto& [name, value] : given->items()) {
    if (value.is_string()) {
      facts.emplace(name, value.get<std::string>());
    } else if (value.is_number_integer() || value.is_boolean()) {
      facts.emplace(name, value.dump());
    } else {
      return refuse("attribute '" + name.substr(0, kAttributesMax) +
                    "': accepted: text, a whole number, true, false");
    }
  }
  return facts;
}

Result<vendor::Costs> read_costs(const json& body) {
  static constexpr const char* kAccepted =
      "cost: accepted: a whole number, 0 or more, or an object such as {\"requests\":1,\"tokens\":900}";
  vendor::Costs costs;
  const auto given = body.find("cost");
  if (given == body.end()) return costs;
  const auto whole = [](const json& value) {
    return value.is_number_unsigned() && value <= std::uint64_t{1} << 53;
  };
  if (whole(*given)) {
    costs.emplace(core::kRequestsDimension, given->get<core::Units>());
    return costs;
  }
  if (!given->is_object() || given->size() > core::kVendorLimitsMax) return refuse(kAccepted);
  for (const auto& [dimension, units] : given->items()) {
    if (!whole(units)) return refuse(kAccepted);
    costs.emplace(dimension, units.get<core::Units>());
  }
  return costs;
}

Result<vendor::AnswerHeaders> read_headers(const json& body) {
  static constexpr const char* kAccepted =
      "headers: accepted: an object of name and text or list of texts, such as {\"Retry-After\":\"2\"}";
  vendor::AnswerHeaders headers;
  const auto given = body.find("headers");
  if (given == body.end()) return headers;
  if (!given->is_object() || given->size() > kVendorHeadersMax) return refuse(kAccepted);
  for (const auto& [name, value] : given->items()) {
    if (value.is_string()) {
      headers.emplace_back(name, value.get<std::string>());
      continue;
    }
    if (!value.is_array() || value.size() > kVendorHeadersMax) return refuse(kAccepted);
    for (const json& line : value) {
      if (!line.is_string()) return refuse(kAccepted);
      headers.emplace_back(name, line.get<std::string>());
    }
  }
  return headers;
}

Result<std::optional<WallTime>> read_sent(const json& body) {
  static constexpr const char* kAccepted = "sentAt: accepted: milliseconds since 1970 or an RFC 3339 time";
  constexpr std::int64_t kMsMax = 1'000'000'000'000'000 / 10;  // the year 5138
  const auto given = body.find("sentAt");
  if (given == body.end() || given->is_null()) return std::nullopt;
  if (given->is_number_unsigned() && *given <= kMsMax) return from_us(given->get<std::int64_t>() * 1000);
  if (given->is_number_float() && *given >= 0 && *given <= kMsMax)
    return from_us(static_cast<std::int64_t>(given->get<double>() * 1000));
  if (!given->is_string()) return refuse(kAccepted);
  const auto time = parse_rfc3339(given->get_ref<const std::string&>());
  if (!time || *time < WallTime{}) return refuse(kAccepted);
  return *time;
}

Result<std::string> read_text(const json& body, const char* name, std::size_t bytes_max) {
  const auto given = body.find(name);
  if (given == body.end() || given->is_null()) return std::string{};
  if (!given->is_string() || given->get_ref<const std::string&>().size() > bytes_max)
    return refuse(std::string(name) + ": accepted: text of at most " + std::to_string(bytes_max) + " bytes");
  return given->get<std::string>();
}

ordered_json time_or_null(const std::optional<WallTime>& time) {
  if (!time) return nullptr;
  return format_rfc3339(*time, Fraction::milliseconds);
}
ordered_json number_or_null(const std::optional<core::Units>& number) {
  if (!number) return nullptr;
  return *number;
}
ordered_json word_or_null(const std::optional<core::FailureMode>& mode) {
  if (!mode) return nullptr;
  return std::string(core::to_string(*mode));
}

std::int64_t rounded_up(Duration wait, Duration unit) {
  return std::max<std::int64_t>(1, (wait + unit - Duration{1}) / unit);
}

}  // namespace

Result<vendor::AcquireCall> read_acquire(std::string_view text) {
  const auto body = read_object(text, {"vendor", "attributes", "cost"}, kVendorBodyBytesMax);
  if (!body) return std::unexpected(body.error());
  auto name = read_vendor_name(*body);
  if (!name) return std::unexpected(name.error());
  auto facts = read_facts(*body);
  if (!facts) return std::unexpected(facts.error());
  auto costs = read_costs(*body);
  if (!costs) return std::unexpected(costs.error());
  return vendor::AcquireCall{
      .vendor = *std::move(name), .attributes = *std::move(facts), .costs = *std::move(costs)};
}

Result<vendor::ObserveCall> read_observe(std::string_view text) {
  const auto body =
      read_object(text, {"vendor", "attributes", "id", "status", "headers", "reason", "sentAt", "cost"},
                  kVendorBodyBytesMax);
  if (!body) return std::unexpected(body.error());
  vendor::ObserveCall call;
  auto name = read_vendor_name(*body);
  if (!name) return std::unexpected(name.error());
  auto facts = read_facts(*body);
  if (!facts) return std::unexpected(facts.error());
  auto headers = read_headers(*body);
  if (!headers) return std::unexpected(headers.error());
  auto costs = read_costs(*body);
  if (!costs) return std::unexpected(costs.error());
  const auto sent = read_sent(*body);
  if (!sent) return std::unexpected(sent.error());
  auto id = read_text(*body, "id", kVendorIdBytesMax);
  if (!id) return std::unexpected(id.error());
  auto reason = read_text(*body, "reason", kReasonBytesMax);
  if (!reason) return std::unexpected(reason.error());
  const auto status = body->find("status");
  if (status == body->end() || !status->is_number_unsigned() || *status < 100U || *status > 999U)
    return refuse("status: accepted: the HTTP status of the vendor's answer, such as 200 or 429");
  return vendor::ObserveCall{
      .vendor = *std::move(name),
      .attributes = *std::move(facts),
      .id = *std::move(id),
      .answer = {.status = status->get<int>(), .headers = *std::move(headers), .reason = *std::move(reason)},
      .sent = *sent,
      .actual = *std::move(costs)};
}

std::string render_acquired(const vendor::Acquired& acquired) {
  ordered_json body;
  body["allowed"] = acquired.allowed;
  body["id"] = acquired.allowed ? ordered_json(acquired.id) : ordered_json(nullptr);
  body["remainingTokens"] = number_or_null(acquired.remaining);
  const bool waits = !acquired.allowed && !acquired.impossible;
  body["retryAfterSeconds"] =
      waits ? ordered_json(rounded_up(acquired.retry_after, 1s)) : ordered_json(nullptr);
  body["retryAfterMs"] = waits ? ordered_json(rounded_up(acquired.retry_after, 1ms)) : ordered_json(nullptr);
  body["frozenUntil"] = time_or_null(acquired.frozen_until);
  body["degraded"] = word_or_null(acquired.degraded);
  return to_text(body);
}

std::string render_observed(const vendor::Observed& observed) {
  ordered_json body;
  const bool waits = observed.retry_after > Duration{0};
  body["refused"] = observed.refused;
  body["retryAfterSeconds"] =
      waits ? ordered_json(rounded_up(observed.retry_after, 1s)) : ordered_json(nullptr);
  body["retryAfterMs"] = waits ? ordered_json(rounded_up(observed.retry_after, 1ms)) : ordered_json(nullptr);
  body["frozenUntil"] = time_or_null(observed.frozen_until);
  body["remainingTokens"] = number_or_null(observed.remaining);
  body["applied"] = observed.applied;
  body["degraded"] = word_or_null(observed.degraded);
  return to_text(body);
}

std::string render_operated(const std::string& vendor, const vendor::Operated& operated) {
  ordered_json body;
  body["vendor"] = vendor;
  body["key"] = operated.key;
  body["frozenUntil"] = time_or_null(operated.frozen_until);
  return to_text(body);
}

std::string render_vendor(const vendor::VendorStatus& status) {
  ordered_json body;
  body["vendor"] = status.vendor->id;
  body["key"] = status.key;
  body["used"] = status.view.exists;
  body["frozenUntil"] = time_or_null(status.view.frozen_until);
  body["refusalsInARow"] = status.view.strikes;
  body["inFlight"] = status.view.in_flight;
  body["concurrent"] =
      status.view.concurrent > 0 ? ordered_json(status.view.concurrent) : ordered_json(nullptr);
  ordered_json limits = ordered_json::array();
  for (std::size_t i = 0; i < status.view.remaining.size(); ++i) {
    limits.push_back({{"limit", core::window_type(status.vendor->policy->limits[i])},
                      {"dimension", status.vendor->dimensions[i]},
                      {"remaining", status.view.remaining[i]},
                      {"waitsUntil", time_or_null(status.view.hold[i])}});
  }
  body["limits"] = std::move(limits);
  return to_text(body);
}

}  // namespace dripgate::server
