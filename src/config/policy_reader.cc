// Policy reader: see policy_reader.h.
#include "config/policy_reader.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "base/limits.h"
#include "base/small_letters.h"
#include "config/fields.h"
#include "config/identity.h"
#include "config/limit_reader.h"
#include "config/override_reader.h"
#include "config/pattern.h"
#include "config/scalars.h"
#include "config/spelling.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

using core::Policy;

constexpr std::size_t kTermsMax = 16;
constexpr std::size_t kPatternsMax = 100;
constexpr std::size_t kPatternBytesMax = 256;
constexpr std::size_t kKeyPartsMax = 8;
constexpr std::size_t kPolicyNameBytesMax = 128;
constexpr Duration kReplayTtlMax = std::chrono::hours{24};
constexpr std::int64_t kReplaysMax = 100;

constexpr auto kPolicyKeys =
    joined_keys(std::array<std::string_view, 13>{"id", "name", "match", "ignoreCase", "key", "scope",
                                                 "onStoreFailure", "localShare", "onMissingKey", "shadow",
                                                 "unlimited", "overrides", "idempotency"},
                kLimitKeys);
constexpr std::array<std::string_view, 4> kKeyPartKeys{"name", "secret", "trim", "lower"};
constexpr std::array<std::string_view, 2> kIdempotencyKeys{"ttl", "maxReplays"};

constexpr std::array kFailureModes{named(core::FailureMode::local), named(core::FailureMode::open),
                                   named(core::FailureMode::closed)};
constexpr std::array kMissingKeys{Word{"deny", core::MissingKey::deny},
                                  Word{"defaultKey", core::MissingKey::default_key},
                                  Word{"skip", core::MissingKey::skip}};

void read_pattern(const Node& node, core::MatchTerm& term, Context& context) {
  const auto text = read_text(node, "match " + term.name, kPatternBytesMax, context.report);
  if (!text) return;
  const bool route = term.name == "route" && *text != "*";
  const auto problem = [&]() -> std::optional<Error> {
    if (route) {
      if (auto parsed = parse_route_pattern(*text); !parsed) return parsed.error();
    } else if (auto parsed = parse_value_pattern(*text); !parsed) {
      return parsed.error();
    }
    return std::nullopt;
  }();
  if (problem) {
    context.report.error(node.at, problem->detail);
  } else if (const std::string usual = spelled(term.name, *text);
             term.ignore_case ? small_letters(usual) != small_letters(*text) : usual != *text) {
    context.report.warning(
        node.at, "match " + term.name + " " + in_quotes(*text) +
                     ": requests are spelled otherwise, so it never matches; accepted: " + in_quotes(usual));
  }
  term.patterns.push_back(*text);
}

// The names of `match` are free, so that only duplicates and empty values can be told here.
void read_match(const Node& node, bool ignore_case, Policy& policy, Context& context) {
  if (node.kind != Node::Kind::map || node.keys.empty()) {
    context.report.error(node.at, "match must be a mapping of names to values, such as { plan: free }");
    return;
  }
  if (node.keys.size() > kTermsMax) {
    context.report.error(node.at, "match has more than " + std::to_string(kTermsMax) + " terms");
  }
  Unique names("key in match", context.report);
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    core::MatchTerm term{node.keys[i].text, {}, ignore_case};
    const Node name{.kind = Node::Kind::scalar, .at = node.keys[i].at, .text = term.name};
    if (read_name(name, "match name", context.report)) names.add(term.name, name.at);
    const Node& value = node.items[i];
    if (value.kind == Node::Kind::list) {
      const std::string what = "match " + term.name;
      for (const Node& item : list_items(value, what, kPatternsMax, context.report)) {
        read_pattern(item, term, context);
      }
    } else {
      read_pattern(value.kind == Node::Kind::null ? Node{.at = node.keys[i].at} : value, term, context);
    }
    policy.match.push_back(std::move(term));
  }
}

// API keys are secrets under every spelling of their name.
bool is_api_key(std::string_view name) {
  std::string bare;
  for (const char c : name) {
    if (c != '-' && c != '_') bare += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return bare == "apikey" || bare == "xapikey";
}

void read_key_part(const Node& node, Policy& policy, Context& context) {
  core::KeyPart part;
  std::optional<bool> secret;
  if (node.kind == Node::Kind::map) {
    const Fields fields(node, "key part", kKeyPartKeys, context.report);
    const Node* name = fields.require("name", "such as { name: sessionId, secret: true }");
    if (name == nullptr) return;
    part.name = read_name(*name, "key part", context.report).value_or("");
    if (const Node* flag = fields.find("secret")) secret = read_flag(*flag, "secret", context.report);
    const auto flag_of = [&](std::string_view key) {
      const Node* flag = fields.find(key);
      return flag != nullptr && read_flag(*flag, key, context.report).value_or(false);
    };
    part.trim = flag_of("trim");
    part.lower = flag_of("lower");
  } else {
    part.name = read_name(node, "key part", context.report).value_or("");
  }
  part.secret = secret.value_or(false) || is_api_key(part.name);
  if (secret == false && part.secret) {
    context.report.error(node.at,
                         "key part " + in_quotes(part.name) + " is always secret; remove secret: false");
  }
  policy.key.push_back(std::move(part));
}

void read_key(const Node& node, Policy& policy, Context& context) {
  if (node.kind == Node::Kind::list && node.items.empty()) return;  // one counter for all, said explicitly
  Unique parts("key part", context.report);
  for (const Node& item : list_items(node, "key", kKeyPartsMax, context.report)) {
    const std::size_t before = policy.key.size();
    read_key_part(item, policy, context);
    if (policy.key.size() > before) parts.add(policy.key.back().name, item.at);
  }
}

// Counters follow, or every spelling that matches would have one of its own.
void ignore_case(Mark at, Policy& policy, Report& report) {
  const auto in_match = [&](std::string_view name) {
    return name == "route" || name == "path" ||
           std::ranges::find(policy.match, name, &core::MatchTerm::name) != policy.match.end();
  };
  for (core::KeyPart& part : policy.key)
    if (in_match(part.name)) part.lower = true;
  const bool apart = std::ranges::find(policy.key, policy.scope, &core::KeyPart::name) == policy.key.end();
  if (apart && in_match(policy.scope)) {
    report.error(
        at, "ignoreCase: each spelling of the scope " + in_quotes(policy.scope) +
                " would have counters of its own; accepted: a scope that is a part of key, or of no match");
  }
}

void read_shown_name(const Node& node, Policy& policy, Context& context) {
  const auto name = read_text(node, "name", kPolicyNameBytesMax, context.report);
  if (!name) return;
  const auto header_safe = [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; };
  if (!std::ranges::all_of(*name, header_safe)) {
    context.report.error(node.at,
                         "name stands in response headers; accepted: printable ASCII without \" and \\");
  }
  policy.name = *name;
}

void read_idempotency(const Node& node, Policy& policy, Context& context) {
  const Fields fields(node, "idempotency", kIdempotencyKeys, context.report);
  const Node* ttl = fields.require("ttl", "such as ttl: 10m");
  const Node* replays = fields.require("maxReplays", "such as maxReplays: 3");
  const auto span = ttl ? read_duration(*ttl, "ttl", kReplayTtlMax, context.report) : std::nullopt;
  const auto count =
      replays ? read_integer(*replays, "maxReplays", {1, kReplaysMax}, context.report) : std::nullopt;
  if (span && count) policy.idempotency = core::IdempotencyRule{*span, static_cast<int>(*count)};
}

void read_local_share(const Node& node, Policy& policy, Report& report) {
  const auto share = read_integer(node, "localShare", {1, kInstancesMax}, report);
  if (policy.on_store_failure != core::FailureMode::local) {
    report.error(node.at, "localShare says how onStoreFailure: local decides; another mode takes none");
  }
  policy.local_share = static_cast<int>(share.value_or(1));
}

void read_modes(const Fields& fields, Policy& policy, Context& context) {
  Report& report = context.report;
  if (const Node* node = fields.require("onStoreFailure", "accepted: local, open, closed")) {
    const auto mode = read_word(*node, "onStoreFailure", kFailureModes, report);
    policy.on_store_failure = mode.value_or(core::FailureMode::closed);
  }
  if (const Node* node = fields.find("localShare")) read_local_share(*node, policy, report);
  if (const Node* node = fields.find("onMissingKey")) {
    const auto word = read_word(*node, "onMissingKey", kMissingKeys, report);
    policy.on_missing_key = word.value_or(core::MissingKey::deny);
  }
  if (const Node* node = fields.find("shadow")) {
    policy.shadow = read_flag(*node, "shadow", report).value_or(false);
  }
  if (const Node* node = fields.find("unlimited")) {
    policy.unlimited = read_flag(*node, "unlimited", report).value_or(false);
  }
}

void read_parts(const Fields& fields, Policy& policy, Context& context) {
  if (const Node* node = fields.find("name")) read_shown_name(*node, policy, context);
  const Node* flag = fields.find("ignoreCase");
  const bool either = flag != nullptr && read_flag(*flag, "ignoreCase", context.report).value_or(false);
  if (const Node* node = fields.find("match")) read_match(*node, either, policy, context);
  if (const Node* node = fields.find("key")) read_key(*node, policy, context);
  if (const Node* node = fields.find("scope")) {
    policy.scope = read_name(*node, "scope", context.report).value_or("");
  }
  if (either) ignore_case(flag->at, policy, context.report);
  if (const Node* node = fields.find("idempotency")) read_idempotency(*node, policy, context);
}

Policy read_policy(const Fields& fields, const std::string& scope, Context& context) {
  Policy policy;
  policy.scope = scope;
  if (const Node* id = fields.require("id", "such as id: login")) {
    policy.id = read_name(*id, "id", context.report).value_or("");
  }
  policy.name = policy.id;
  read_parts(fields, policy, context);
  read_modes(fields, policy, context);
  policy.limits = read_limits_or_unlimited(fields, policy.unlimited, context);
  if (const Node* node = fields.find("overrides")) policy.overrides = read_overrides(*node, policy, context);
  return policy;
}

}  // namespace

std::vector<PlacedPolicy> read_policies(const Node& list, const std::string& scope, Context& context) {
  std::vector<PlacedPolicy> policies;
  Unique ids("policy id", context.report);
  Unique names("policy name", context.report);
  std::size_t number = 0;
  for (const Node& item : list_items(list, "policies", kPoliciesMax, context.report)) {
    const Fields fields(item, label("policy", item, ++number), kPolicyKeys, context.report);
    if (!fields.is_map()) continue;
    auto policy = std::make_shared<Policy>(read_policy(fields, scope, context));
    const bool fresh = policy->id.empty() || ids.add(policy->id, fields.mark("id"));
    const std::string_view named = fields.find("name") != nullptr ? "name" : "id";
    if (fresh && !policy->name.empty()) names.add(policy->name, fields.mark(named));
    policies.push_back({std::move(policy), item.at});
  }
  return policies;
}

}  // namespace dripgate::config
