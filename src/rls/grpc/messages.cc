#include "rls/grpc/messages.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "base/limits.h"
#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "render/gate_headers.h"

namespace dripgate::rls {
namespace {

using envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;
using RateLimit = RateLimitResponse::RateLimit;

constexpr std::string_view kDomain = "domain";
constexpr std::string_view kEnvoyAddress = "remote_address";
constexpr std::string_view kAddress = "ip";
/// Of a refusal while the store is away: what Envoy's local replies can be told apart by (deploy/envoy).
constexpr const char* kUnavailable = "unavailable";
/// What an unlimited answer has left, as other rate limit services say it.
constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

struct Unit {
  RateLimit::Unit unit;
  Duration span;
};
constexpr std::array kUnits{
    Unit{RateLimit::SECOND, std::chrono::seconds{1}},   Unit{RateLimit::MINUTE, std::chrono::minutes{1}},
    Unit{RateLimit::HOUR, std::chrono::hours{1}},       Unit{RateLimit::DAY, std::chrono::hours{24}},
    Unit{RateLimit::WEEK, std::chrono::hours{24 * 7}},  Unit{RateLimit::MONTH, std::chrono::hours{24 * 30}},
    Unit{RateLimit::YEAR, std::chrono::hours{24 * 365}}};

/// The unit whose span is nearest by ratio: 90 s is a minute.
RateLimit::Unit unit_of(Duration window) {
  const auto distance = [&](const Unit& unit) {
    const auto a = static_cast<double>(std::max<std::int64_t>(1, window.count()));
    const auto b = static_cast<double>(unit.span.count());
    return std::max(a / b, b / a);
  };
  return std::ranges::min_element(kUnits, {}, distance)->unit;
}

std::uint32_t to_32_bits(core::Units units) {
  return static_cast<std::uint32_t>(
      std::clamp<core::Units>(units, 0, std::numeric_limits<std::uint32_t>::max()));
}

std::string place(int descriptor) {
  return "descriptor " + std::to_string(descriptor + 1);
}

Result<core::Limit> read_limit(const RateLimitDescriptor::RateLimitOverride& limit, int descriptor) {
  // The first six of both enumerations have the same numbers; this one has no week.
  const auto unit = std::ranges::find(kUnits, static_cast<int>(limit.unit()),
                                      [](const Unit& u) { return static_cast<int>(u.unit); });
  if (unit == kUnits.end() || unit->unit == RateLimit::WEEK) {
    return fail(ErrorCode::invalid_argument, place(descriptor) + ": limit.unit is " +
                                                 std::to_string(static_cast<int>(limit.unit())) +
                                                 "; accepted: SECOND, MINUTE, HOUR, DAY, MONTH, YEAR");
  }
  return core::Limit{.algorithm = core::Algorithm::fixed_window,
                     .limit = limit.requests_per_unit(),
                     .window = unit->span,
                     .capacity = limit.requests_per_unit(),
                     .zone = nullptr};
}

Result<void> read_entries(const RateLimitDescriptor& from, int descriptor, core::Descriptor& facts) {
  if (from.entries_size() > kEntriesMax) {
    return fail(ErrorCode::invalid_argument,
                place(descriptor) + " has " + std::to_string(from.entries_size()) +
                    " entries; accepted: at most " + std::to_string(kEntriesMax));
  }
  for (const RateLimitDescriptor::Entry& entry : from.entries()) {
    if (entry.key().empty()) {
      return fail(ErrorCode::invalid_argument,
                  place(descriptor) + " has an entry without a key; accepted: a name");
    }
    const std::string_view name = entry.key() == kEnvoyAddress ? kAddress : std::string_view(entry.key());
    if (!facts.emplace(name, entry.value()).second) {
      return fail(ErrorCode::invalid_argument, place(descriptor) + " names '" + std::string(name) +
                                                   "' twice; accepted: each name once (descriptor_key "
                                                   "gives an entry another)");
    }
  }
  return {};
}

core::Units cost_of(const RateLimitRequest& message, const RateLimitDescriptor& from) {
  if (from.has_hits_addend()) {
    return static_cast<core::Units>(std::min<std::uint64_t>(
        from.hits_addend().value(), static_cast<std::uint64_t>(kExactIntegerMax - 1)));
  }
  return message.hits_addend() == 0 ? 1 : message.hits_addend();
}

void write_limit(const check::PolicyAnswer& policy, RateLimit& out) {
  const core::Limit& limit = policy.plan.limits[policy.decisive];
  out.set_requests_per_unit(to_32_bits(limit.limit));
  out.set_unit(unit_of(limit.window));
  out.set_name(policy.plan.policy->name);
}

void write_status(const check::Answer& answer, RateLimitResponse::DescriptorStatus& out) {
  out.set_code(answer.allowed() ? RateLimitResponse::OK : RateLimitResponse::OVER_LIMIT);
  const check::PolicyAnswer* deciding = answer.deciding();
  const core::LimitOutcome* numbers = deciding == nullptr ? nullptr : deciding->numbers();
  out.set_limit_remaining(numbers == nullptr ? (answer.allowed() ? kUnlimited : 0)
                                             : to_32_bits(numbers->remaining));
  if (numbers != nullptr) write_limit(*deciding, *out.mutable_current_limit());
  std::optional<std::int64_t> seconds;
  if (!answer.allowed() && answer.retry_after) seconds = render::wait_seconds(*answer.retry_after);
  if (answer.allowed() && numbers != nullptr) seconds = render::reset_seconds(*numbers);
  if (seconds) out.mutable_duration_until_reset()->set_seconds(*seconds);
}

void add_header(RateLimitResponse& message, std::string name, std::string value) {
  auto& header = *message.add_response_headers_to_add();
  header.set_key(std::move(name));
  header.set_value(std::move(value));
}

void write_whole(const check::Answer& whole, bool legacy, RateLimitResponse& message) {
  message.set_overall_code(whole.allowed() ? RateLimitResponse::OK : RateLimitResponse::OVER_LIMIT);
  for (auto& [name, value] : render::gate_headers(whole, legacy))
    add_header(message, std::move(name), std::move(value));
  if (whole.allowed()) return;
  add_header(message, "Cache-Control", "no-store");
  add_header(message, "Content-Type", "application/problem+json");
  message.set_raw_body(render::refusal_document(whole));
  if (whole.kind == check::Kind::unavailable)
    (*message.mutable_dynamic_metadata()->mutable_fields())[kUnavailable].set_bool_value(true);
}

}  // namespace

Result<Requests> read_request(const RateLimitRequest& message) {
  if (message.domain().empty()) {
    return fail(ErrorCode::invalid_argument, "domain is empty; accepted: a name, which is the fact 'domain'");
  }
  if (message.descriptors_size() < 1 || message.descriptors_size() > kDescriptorsMax) {
    return fail(ErrorCode::invalid_argument, "there are " + std::to_string(message.descriptors_size()) +
                                                 " descriptors; accepted: 1 to " +
                                                 std::to_string(kDescriptorsMax));
  }
  Requests requests;
  requests.reserve(static_cast<std::size_t>(message.descriptors_size()));
  for (int i = 0; i < message.descriptors_size(); ++i) {
    const RateLimitDescriptor& from = message.descriptors(i);
    check::Request& request = requests.emplace_back();
    request.cost = cost_of(message, from);
    request.descriptor.emplace(kDomain, message.domain());
    if (auto read = read_entries(from, i, request.descriptor); !read)
      return std::unexpected(std::move(read).error());
    if (!from.has_limit()) continue;
    auto limit = read_limit(from.limit(), i);
    if (!limit) return std::unexpected(std::move(limit).error());
    request.limit = std::make_shared<const core::Limit>(*std::move(limit));
  }
  return requests;
}

void write_response(std::span<const check::Answer> answers, bool legacy, RateLimitResponse& message) {
  for (const check::Answer& answer : answers) write_status(answer, *message.add_statuses());
  answers.size() == 1 ? write_whole(answers.front(), legacy, message)
                      : write_whole(joined(answers), legacy, message);
}

}  // namespace dripgate::rls
