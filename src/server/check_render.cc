// What /v1/check and /v1/explain answer.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/names.h"
#include "render/gate_headers.h"
#include "render/json_text.h"
#include "server/check_text.h"
#include "server/render.h"

namespace dripgate::server {
namespace {

using check::PolicyAnswer;
using check::Role;
using Json = nlohmann::ordered_json;

std::string_view word_of(Role role) {
  switch (role) {
    case Role::enforced:
      return "enforced";
    case Role::shadow:
      return "shadow";
    case Role::unlimited:
      return "unlimited";
    case Role::skipped:
      return "skipped";
    case Role::refuses:
      return "refuses";
  }
  return "unknown";
}

/// Whole milliseconds, rounded up.
std::optional<std::int64_t> wait_ms(const std::optional<Duration>& wait) {
  if (!wait) return std::nullopt;
  return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(*wait).count());
}

void append_policy(render::JsonText& json, const PolicyAnswer& policy) {
  const core::LimitOutcome* numbers = policy.numbers();
  json.open('{');
  json.name("policy").text(policy.plan.policy->name);
  json.name("allowed").flag(policy.plan.role != Role::refuses && policy.verdict() == core::Verdict::allow);
  json.name("remaining").number_or_null(numbers ? std::optional(numbers->remaining) : std::nullopt);
  json.name("resetAfterSeconds").number_or_null(numbers ? render::reset_seconds(*numbers) : std::nullopt);
  if (policy.plan.role != Role::enforced) json.name(word_of(policy.plan.role)).flag(true);
  if (policy.replayed) json.name("replayed").flag(true);
  json.close('}');
}

/// policy, limit, remaining, resetAfterSeconds: of the policy that decides.
void append_deciding(render::JsonText& json, const check::Answer& answer) {
  const PolicyAnswer* deciding = answer.deciding();
  if (deciding == nullptr) {
    for (const char* name : {"policy", "limit", "remaining", "resetAfterSeconds"})
      json.name(name).raw("null");
    return;
  }
  const core::LimitOutcome* numbers = deciding->numbers();
  const auto& limits = deciding->plan.limits;
  const bool known = deciding->decisive < limits.size();
  json.name("policy").text(deciding->plan.policy->name);
  json.name("limit").number_or_null(known ? std::optional(limits[deciding->decisive].max_cost())
                                          : std::nullopt);
  json.name("remaining").number_or_null(numbers ? std::optional(numbers->remaining) : std::nullopt);
  json.name("resetAfterSeconds").number_or_null(numbers ? render::reset_seconds(*numbers) : std::nullopt);
}

Json limit_json(const PolicyAnswer& policy, std::size_t index) {
  const core::Limit& limit = policy.plan.limits[index];
  Json out{{"algorithm", core::to_string(limit.algorithm)},
           {"limit", limit.limit},
           {"windowMs", std::chrono::ceil<std::chrono::milliseconds>(limit.window).count()},
           {"capacity", limit.max_cost()},
           {"counterKey", policy.plan.keys[index]},
           {"remaining", nullptr},
           {"resetAfterSeconds", nullptr},
           {"retryAfterMs", nullptr}};
  if (index >= policy.outcomes.size() || !policy.outcomes[index].has_numbers) return out;
  const core::LimitOutcome& outcome = policy.outcomes[index];
  out["remaining"] = outcome.remaining;
  if (const auto reset = render::reset_seconds(outcome)) out["resetAfterSeconds"] = *reset;
  if (const auto wait = wait_ms(outcome.retry_after)) out["retryAfterMs"] = *wait;
  return out;
}

Json matched_json(const PolicyAnswer& policy) {
  Json out{{"policy", policy.plan.policy->id},
           {"name", policy.plan.policy->name},
           {"role", word_of(policy.plan.role)},
           {"allowed", policy.plan.role != Role::refuses && policy.verdict() == core::Verdict::allow},
           {"override", nullptr},
           {"missing", policy.plan.missing},
           {"limits", Json::array()}};
  if (policy.plan.override != nullptr) out["override"] = policy.plan.override->value;
  for (std::size_t i = 0; i < policy.plan.limits.size(); ++i) out["limits"].push_back(limit_json(policy, i));
  return out;
}

}  // namespace

void append_decision(std::string& out, const check::Answer& answer, bool legacy) {
  render::JsonText json(out);
  json.open('{');
  json.name("allowed").flag(answer.allowed());
  json.name("status").number(render::status_of(answer));
  append_deciding(json, answer);
  json.name("retryAfterSeconds")
      .number_or_null(answer.retry_after ? std::optional(render::wait_seconds(*answer.retry_after))
                                         : std::nullopt);
  json.name("retryAfterMs").number_or_null(wait_ms(answer.retry_after));
  answer.degraded ? json.name("degraded").text(core::to_string(*answer.degraded))
                  : json.name("degraded").raw("null");
  answer.refund_id.empty() ? json.name("id").raw("null") : json.name("id").text(answer.refund_id);
  json.name("policies").open('[');
  for (const PolicyAnswer& policy : answer.policies) append_policy(json, policy);
  json.close(']');
  json.name("headers").open('{');
  for (const auto& [name, value] : render::gate_headers(answer, legacy)) json.name(name).text(value);
  json.name("Cache-Control").text("no-store");
  json.close('}');
  if (!answer.allowed()) json.name("problem").raw(render::refusal_document(answer));
  json.close('}');
}

std::string render_explanation(const check::Explanation& explanation, const core::Descriptor& descriptor) {
  Json out{{"allowed", explanation.answer.allowed()},
           {"kind", check::to_string(explanation.answer.kind)},
           {"degraded",
            explanation.answer.degraded ? Json(core::to_string(*explanation.answer.degraded)) : Json()},
           {"matched", Json::array()},
           {"others", Json::array()}};
  for (const PolicyAnswer& policy : explanation.answer.policies)
    out["matched"].push_back(matched_json(policy));
  for (const check::Mismatch& other : explanation.others) {
    out["others"].push_back({{"policy", other.policy->id},
                             {"attribute", other.name},
                             {"present", descriptor.contains(other.name)},
                             {"accepted", other.accepted}});
  }
  return to_text(out) + "\n";
}

}  // namespace dripgate::server
