// Override reader: see override_reader.h.
#include "config/override_reader.h"

#include <algorithm>
#include <array>

#include "base/small_letters.h"
#include "config/identity.h"
#include "config/limit_reader.h"
#include "config/pattern.h"
#include "config/scalars.h"

namespace dripgate::config {
namespace {

constexpr std::size_t kValueBytesMax = 256;
constexpr std::size_t kSecretDigits = 16;
constexpr auto kOverrideKeys = joined_keys(std::array<std::string_view, 2>{"value", "unlimited"}, kLimitKeys);

bool is_digest(std::string_view text) {
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kSecretDigits && std::ranges::all_of(text, hex);
}

std::string read_value(const Node& node, bool secret, Context& context) {
  // The value itself would be a secret in the file, so the message does not show it.
  if (secret && !(node.kind == Node::Kind::scalar && is_digest(node.text))) {
    context.report.error(node.at,
                         "value belongs to a secret key part; accepted: the first 16 hex digits of the "
                         "SHA-256 of the secret");
    return {};
  }
  const auto text = read_text(node, "value", kValueBytesMax, context.report);
  if (!text) return {};
  if (const auto pattern = parse_value_pattern(*text); !pattern) {
    context.report.error(node.at, pattern.error().detail);
  }
  return *text;
}

core::Override read_override(const Fields& fields, bool secret, Context& context) {
  core::Override result;
  if (const Node* value = fields.require("value", "accepted: a value of the first key part")) {
    result.value = read_value(*value, secret, context);
  }
  if (const Node* flag = fields.find("unlimited")) {
    result.unlimited = read_flag(*flag, "unlimited", context.report).value_or(false);
  }
  result.limits = read_limits_or_unlimited(fields, result.unlimited, context);
  return result;
}

}  // namespace

std::vector<core::Limit> read_limits_or_unlimited(const Fields& fields, bool unlimited, Context& context) {
  if (!unlimited) return read_limits(fields, context);
  for (const std::string_view key : kLimitKeys) {
    if (!fields.mentions(key)) continue;
    context.report.error(fields.mark(key),
                         fields.what() + " has both unlimited: true and " + std::string(key) + "; keep one");
  }
  return {};
}

std::vector<core::Override> read_overrides(const Node& list, const core::Policy& policy, Context& context) {
  std::vector<core::Override> overrides;
  if (policy.key.empty()) {
    context.report.error(list.at, "overrides go by the first key part, and the policy has no key");
    return overrides;
  }
  Unique values("override value", context.report);
  std::size_t number = 0;
  for (const Node& item : list_items(list, "overrides", kOverridesMax, context.report)) {
    const std::string what = "override " + std::to_string(++number);
    const Fields fields(item, what, kOverrideKeys, context.report);
    if (!fields.is_map()) continue;
    const core::KeyPart& part = policy.key.front();
    overrides.push_back(read_override(fields, part.secret, context));
    if (part.lower && !part.secret) overrides.back().value = small_letters(overrides.back().value);
    if (!overrides.back().value.empty()) values.add(overrides.back().value, fields.mark("value"));
  }
  return overrides;
}

}  // namespace dripgate::config
