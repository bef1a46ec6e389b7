#include "render/gate_headers.h"

#include <algorithm>
#include <charconv>

#include "render/json_text.h"

namespace dripgate::render {
namespace {

using check::Kind;
using check::PolicyAnswer;
using check::Role;

std::int64_t seconds_up(Duration span) {
  return std::chrono::ceil<std::chrono::seconds>(span).count();
}

constexpr std::size_t kHeadersUsual = 4;      // with Cache-Control
constexpr std::size_t kFieldBytesUsual = 48;  // a field that fits grows its text once

void append_number(std::string& out, std::int64_t number) {
  char digits[24];
  const char* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

/// Of a String of structured fields (RFC 9651): names are printable ASCII.
void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c >= 0x20 && c < 0x7f ? c : '?';
  }
}

/// The policy's name; of several limits each has its window behind it ("api/RPM").
std::string item_name(const PolicyAnswer& policy, std::size_t limit) {
  const std::string& name = policy.plan.policy->name;
  if (policy.plan.limits.size() == 1) return name;
  return name + '/' + core::window_type(policy.plan.limits[limit]);
}

/// The same as a String.
void append_item(std::string& out, const PolicyAnswer& policy, std::size_t limit) {
  out += '"';
  append_escaped(out, policy.plan.policy->name);
  if (policy.plan.limits.size() > 1) {
    out += '/';
    append_escaped(out, core::window_type(policy.plan.limits[limit]));
  }
  out += '"';
}

bool is_listed(const PolicyAnswer& policy) {
  return policy.plan.role == Role::enforced;
}

void append_policies(std::string& out, const check::Answer& answer) {
  for (const PolicyAnswer& policy : answer.policies) {
    if (!is_listed(policy)) continue;
    for (std::size_t i = 0; i < policy.plan.limits.size(); ++i) {
      const core::Limit& limit = policy.plan.limits[i];
      if (!out.empty()) out += ", ";
      append_item(out, policy, i);
      append_number(out += ";q=", limit.limit);
      append_number(out += ";w=", std::max<std::int64_t>(1, seconds_up(limit.window)));
    }
  }
}

/// Seconds that RateLimit names: of a refusal its Retry-After.
std::optional<std::int64_t> shown_seconds(const check::Answer& answer, const core::LimitOutcome& outcome) {
  if (answer.allowed()) return reset_seconds(outcome);
  return answer.retry_after ? std::optional(wait_seconds(*answer.retry_after)) : std::nullopt;
}

bool has_rate_limit(const check::Answer& answer) {
  return answer.degraded != core::FailureMode::open && answer.degraded != core::FailureMode::closed;
}

void add_rate_limit(Headers& headers, const check::Answer& answer, bool legacy) {
  std::string policies;
  policies.reserve(kFieldBytesUsual);
  append_policies(policies, answer);
  if (!policies.empty()) headers.emplace_back("RateLimit-Policy", std::move(policies));
  const PolicyAnswer* deciding = answer.deciding();
  const core::LimitOutcome* numbers = deciding == nullptr ? nullptr : deciding->numbers();
  if (numbers == nullptr) return;
  const auto seconds = shown_seconds(answer, *numbers);
  std::string field;
  field.reserve(kFieldBytesUsual);
  append_item(field, *deciding, deciding->decisive);
  append_number(field += ";r=", numbers->remaining);
  if (seconds) append_number(field += ";t=", *seconds);
  headers.emplace_back("RateLimit", std::move(field));
  if (!legacy) return;
  headers.emplace_back("X-RateLimit-Limit",
                       std::to_string(deciding->plan.limits[deciding->decisive].max_cost()));
  headers.emplace_back("X-RateLimit-Remaining", std::to_string(numbers->remaining));
  if (seconds) headers.emplace_back("X-RateLimit-Reset", std::to_string(*seconds));
}

struct Refusal {
  std::string_view type;
  std::string_view code;
  std::string detail;
};

Refusal refusal_of(const check::Answer& answer) {
  const PolicyAnswer* deciding = answer.deciding();
  const std::string name = deciding == nullptr ? std::string() : "'" + deciding->plan.policy->name + "'";
  switch (answer.kind) {
    case Kind::impossible:
      return {"/errors/cost-exceeds-limit", "COST_EXCEEDS_LIMIT",
              "the request costs more than policy " + name + " can ever allow"};
    case Kind::missing_key:
      return {"/errors/missing-key", "MISSING_KEY",
              "policy " + name + " needs a fact that the request does not have"};
    case Kind::unavailable:
      return {"/errors/limiter-unavailable", "LIMITER_UNAVAILABLE",
              "the limiter cannot decide right now, and policy " + name + " refuses until it can"};
    case Kind::denied:
    case Kind::allowed:
      break;
  }
  return {"/errors/rate-limited", "RATE_LIMITED", "policy " + name + " allows no more right now"};
}

void add_violated(JsonText& json, const check::Answer& answer) {
  json.name("violated-policies").open('[');
  for (const PolicyAnswer& policy : answer.policies) {
    if (!is_listed(policy)) continue;
    for (std::size_t i = 0; i < policy.outcomes.size(); ++i) {
      const core::LimitOutcome& outcome = policy.outcomes[i];
      if (outcome.has_numbers && outcome.verdict != core::Verdict::allow) json.text(item_name(policy, i));
    }
  }
  json.close(']');
}

}  // namespace

int status_of(const check::Answer& answer) {
  if (answer.allowed()) return 200;
  return answer.kind == Kind::unavailable ? 503 : 429;
}

std::int64_t wait_seconds(Duration wait) {
  return std::max<std::int64_t>(1, seconds_up(wait));
}

std::optional<std::int64_t> reset_seconds(const core::LimitOutcome& outcome) {
  if (outcome.reset_after == core::kNeverResets) return std::nullopt;
  return std::max<std::int64_t>(0, seconds_up(outcome.reset_after));
}

Headers gate_headers(const check::Answer& answer, bool legacy) {
  Headers headers;
  headers.reserve(kHeadersUsual);
  if (has_rate_limit(answer)) add_rate_limit(headers, answer, legacy);
  if (answer.retry_after)
    headers.emplace_back("Retry-After", std::to_string(wait_seconds(*answer.retry_after)));
  return headers;
}

std::string refusal_document(const check::Answer& answer) {
  const int status = status_of(answer);
  const Refusal refusal = refusal_of(answer);
  std::string out;
  JsonText json(out);
  json.open('{');
  json.name("type").text(refusal.type);
  json.name("title").text(status == 503 ? "Service Unavailable" : "Too Many Requests");
  json.name("status").number(status);
  json.name("detail").text(refusal.detail);
  json.name("code").text(refusal.code);
  if (answer.deciding() != nullptr) json.name("policy").text(answer.deciding()->plan.policy->name);
  if (answer.retry_after) json.name("retryAfterSeconds").number(wait_seconds(*answer.retry_after));
  if (answer.kind != Kind::unavailable && answer.kind != Kind::missing_key) add_violated(json, answer);
  json.close('}');
  return out;
}

}  // namespace dripgate::render
