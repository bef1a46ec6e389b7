// Structured fields of the response headers: whatever names, limits and outcomes an answer has, what stands
// in RateLimit-Policy and RateLimit reads back as RFC 9651 lists that say the same, and bodies are JSON.
//
// Input, a line each: "kind N", "wait US", "mode N", "legacy", "policy NAME", and behind its policy "limit
// ALGORITHM UNITS WINDOW-US CAPACITY VERDICT REMAINING RESET-US".
#include <algorithm>
#include <array>
#include <list>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "fuzz/require.h"
#include "fuzz/structured_fields.h"
#include "render/gate_headers.h"
#include "server/check_text.h"
#include "store/counter_calls.h"

namespace dripgate::fuzz {
namespace {

constexpr std::size_t kPoliciesMax = 40;

struct Case {
  std::list<core::Policy> policies;
  check::Answer answer;
  bool legacy = false;
};

/// Numbers as the contract bounds them (store/counter_calls.h, core/decision.h).
core::Units units(std::istringstream& words) {
  std::int64_t number = 0;
  words >> number;
  return std::clamp<core::Units>(number, 0, store::kCounterUnitsMax);
}
Duration span(std::istringstream& words) {
  std::int64_t number = 0;
  words >> number;
  return Duration{std::max<std::int64_t>(number, 0)};
}
template <class Enum>
Enum one_of(std::istringstream& words, unsigned count) {
  unsigned number = 0;
  words >> number;
  return static_cast<Enum>(number % count);
}

void read_limit(std::istringstream& words, core::Policy& policy, check::PolicyAnswer& of) {
  core::Limit limit{.algorithm = one_of<core::Algorithm>(words, 3), .zone = nullptr};
  limit.limit = units(words);
  limit.window = std::max(span(words), Duration{1});
  limit.capacity = units(words);
  core::LimitOutcome outcome;
  outcome.verdict = one_of<core::Verdict>(words, 3);
  outcome.remaining = units(words);
  outcome.reset_after = span(words);
  policy.limits.push_back(limit);
  of.outcomes.push_back(outcome);
}

Case read_case(std::string_view text) {
  Case made;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    check::Answer& answer = made.answer;
    if (first == "kind") answer.kind = one_of<check::Kind>(words, 5);
    if (first == "wait") answer.retry_after = span(words);
    if (first == "mode") answer.degraded = one_of<core::FailureMode>(words, 3);
    if (first == "legacy") made.legacy = true;
    if (first == "policy" && made.policies.size() < kPoliciesMax) {
      core::Policy& policy = made.policies.emplace_back();
      policy.id = policy.name = line.substr(std::min<std::size_t>(line.size(), 7));
      answer.policies.push_back({.plan = {.policy = &policy}});
    }
    if (first == "limit" && !made.policies.empty() &&
        made.policies.back().limits.size() < kLimitsPerPolicyMax)
      read_limit(words, made.policies.back(), answer.policies.back());
  }
  for (check::PolicyAnswer& policy : made.answer.policies) policy.plan.limits = policy.plan.policy->limits;
  const auto numbered =
      std::ranges::find_if(made.answer.policies, [](const auto& p) { return p.numbers() != nullptr; });
  if (numbered != made.answer.policies.end())
    made.answer.decisive = static_cast<std::size_t>(numbered - made.answer.policies.begin());
  return made;
}

/// A name as a structured string can say it.
std::string shown(std::string name) {
  for (char& c : name)
    if (c < 0x20 || c > 0x7e) c = '?';
  return name;
}

std::vector<Member> read_back(const std::string& field) {
  auto members = FieldReader(field).list();
  require(members.has_value(), "the field is a list of strings with integers", field);
  return *std::move(members);
}

void require_policies(const Case& made, const std::string& field) {
  const std::vector<Member> members = read_back(field);
  std::size_t next = 0;
  for (const check::PolicyAnswer& policy : made.answer.policies) {
    for (const core::Limit& limit : policy.plan.limits) {
      require(next < members.size(), "every limit has its member", field);
      const Member& member = members[next++];
      require(member.text.starts_with(shown(policy.plan.policy->name)), "a member bears its policy's name",
              field);
      require(member.parameter("q") == limit.limit, "q is the limit", field);
      require(member.parameter("w") >= 1, "w is a whole second at least", field);
      require(member.parameters.size() == 2, "a policy says q and w", field);
    }
  }
  require(next == members.size(), "no member is of no limit", field);
}

void require_limit(const Case& made, const std::string& field) {
  const std::vector<Member> members = read_back(field);
  require(members.size() == 1, "RateLimit has one member", field);
  require(members[0].parameter("r") == made.answer.deciding()->numbers()->remaining, "r is what is left",
          field);
  require(members[0].parameter("t").value_or(0) >= 0, "t is no time ago", field);
}

void require_json(const Case& made) {
  // Names are UTF-8 in a config that loads; others are none of the renderer's.
  const auto is_utf8 = [](const core::Policy& policy) {
    try {
      (void)nlohmann::json(policy.name).dump();
      return true;
    } catch (const nlohmann::json::type_error&) {
      return false;
    }
  };
  if (!std::ranges::all_of(made.policies, is_utf8)) return;
  std::string decision;
  server::append_decision(decision, made.answer, made.legacy);
  require(nlohmann::json::accept(decision), "a decision is JSON", decision);
  if (made.answer.allowed()) return;
  const std::string document = render::refusal_document(made.answer);
  require(nlohmann::json::accept(document), "a problem document is JSON", document);
}

void run(std::string_view input) {
  const Case made = read_case(input);
  for (const auto& [name, value] : render::gate_headers(made.answer, made.legacy)) {
    require(std::ranges::all_of(value, [](char c) { return c >= 0x20 && c < 0x7f; }), "a header is printable",
            value);
    if (name == "RateLimit-Policy")
      require_policies(made, value);
    else if (name == "RateLimit")
      require_limit(made, value);
    else
      require(!value.empty() && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; }),
              "a number", value);
    if (name == "Retry-After") require(value != "0", "Retry-After is never 0");
  }
  require_json(made);
}

}  // namespace
}  // namespace dripgate::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dripgate::fuzz::run(dripgate::fuzz::text_of(data, size));
  return 0;
}
