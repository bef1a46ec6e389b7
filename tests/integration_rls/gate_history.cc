#include "integration_rls/gate_history.h"

#include <algorithm>
#include <sstream>

#include "conformance/limits.h"

namespace dripgate::histories {

using core::Verdict;
using rls_v3::RateLimitResponse;
using testing::bucket;
using testing::log_of;
using testing::per;

// Every `user` stands on a slot of its own, every `tenant` and every `ip` too.
const char* const kPolicies = R"(policies:
  - { id: tenant, match: { tenant: "*" }, key: [tenant], algorithm: token-bucket, capacity: 9, refillPerMinute: 37, onStoreFailure: closed }
  - id: user
    match: { user: "*" }
    key: [user]
    limits: [ { limit: 5, window: 10s }, { limit: 9, window: 60s } ]
    overrides: [ { value: "vip-*", limit: 7, window: 7s }, { value: "free-*", unlimited: true } ]
    onStoreFailure: closed
  - { id: login-ip, match: { route: "POST /auth/login" }, key: [ip, user], algorithm: sliding-log, limit: 4, window: 60s, onStoreFailure: closed }
  - { id: login-user, match: { route: "POST /auth/login" }, key: [user], algorithm: sliding-log, limit: 6, window: 90s, onStoreFailure: closed }
  - { id: trial, match: { user: "*" }, key: [user], limit: 3, window: 30s, shadow: true, onStoreFailure: closed }
)";

namespace {

constexpr int kStepsMin = 6;
constexpr int kStepsMore = 14;
constexpr int kGroups = 3;  // descriptors of one call: no two of them share a counter
constexpr std::array kPrefixes{"u-", "vip-", "free-"};

std::string text_of(const std::optional<Duration>& wait) {
  return wait ? std::to_string((wait->count() + 999) / 1000) : "null";
}

std::int64_t hits_of(const rls_v3::RateLimitRequest& request, int descriptor) {
  return static_cast<std::int64_t>(request.descriptors(descriptor).hits_addend().value());
}

}  // namespace

GateHistory::GateHistory(GateWorld& world, HttpCaller& http, rls_v3::RateLimitService::Stub& rls, Where where,
                         Reached& reached, std::uint64_t seed)
    : world_(world),
      http_(http),
      rls_(rls),
      where_(where),
      reached_(reached),
      random_(seed),
      name_(std::to_string(seed)) {
  world_.set(world_.now() + std::chrono::hours{1});
}

std::string GateHistory::run() {
  for (int step = 0, steps = kStepsMin + upto(kStepsMore); step < steps; ++step) {
    advance();
    const int kind = upto(10);
    const std::string wrong = kind < 5 ? check() : kind < 7 ? refund() : call();
    if (!wrong.empty()) return "step " + std::to_string(step) + ": " + wrong + "\nbefore it:\n" + trace_;
  }
  return settle();
}

void GateHistory::note(const std::string& what, bool yes) {
  trace_ += std::to_string(to_us(world_.now())) + " " + what + (yes ? ": yes\n" : ": no\n");
}

void GateHistory::advance() {
  if (promised_ && *promised_ > world_.now() && upto(2) == 0) {
    const int early = upto(2);
    (early == 0 ? reached_.promises_kept : reached_.promises_one_short)++;
    return world_.set(*promised_ - Duration{early});
  }
  switch (upto(8)) {
    case 0:
      return world_.set(world_.now() + Duration{upto(3)});
    case 1:
      return world_.set(world_.now() + Duration{upto(1'700'000)});
    case 2:
      return world_.set(world_.now() + std::chrono::seconds{upto(20)});
    case 3: {  // around the edge of a window
      const std::int64_t to_edge = 10'000'000 - to_us(world_.now()) % 10'000'000;
      return world_.set(world_.now() + Duration{std::max<std::int64_t>(0, to_edge + upto(3) - 1)});
    }
    default:
      return;
  }
}

/// Facts of different groups share no counter.
GateHistory::Facts GateHistory::random_facts(int group) {
  const std::string own = name_ + "-" + std::to_string(group);
  Facts facts;
  const int shape = upto(8);
  if (shape != 0) facts.user = kPrefixes[static_cast<std::size_t>(std::max(0, upto(6) - 3))] + own;
  if (shape == 0 || upto(2) == 0) facts.tenant = "t" + std::to_string(upto(2)) + "-" + own;
  facts.login = shape > 3;
  if (facts.login) facts.ip = "10." + std::to_string(group) + ".0." + std::to_string(upto(2));
  return facts;
}

core::Units GateHistory::random_cost() {
  constexpr std::array<core::Units, 10> kCosts{1, 1, 1, 1, 2, 2, 3, 0, 4, 10};
  return kCosts[static_cast<std::size_t>(upto(kCosts.size()))];
}

std::vector<GateHistory::Asked> GateHistory::asked(const Facts& facts, core::Units cost) const {
  std::vector<Asked> all;
  const auto ask = [&](const char* policy, const std::string& key, const std::vector<core::Limit>& limits,
                       bool shadow = false) {
    Asked one{.policy = policy, .charges = {}, .shadow = shadow};
    for (std::size_t i = 0; i < limits.size(); ++i)
      one.charges.push_back({policy + ("|" + key + "|") + std::to_string(i), limits[i], cost});
    all.push_back(std::move(one));
  };
  using std::chrono::seconds;
  if (!facts.tenant.empty()) ask("tenant", facts.tenant, {bucket(37, seconds{60}, 9)});
  if (facts.login) {
    ask("login-ip", facts.ip + "|" + facts.user, {log_of(4, seconds{60})});
    ask("login-user", facts.user, {log_of(6, seconds{90})});
  }
  if (facts.user.empty()) return all;
  if (facts.user.starts_with("vip-")) {
    ask("user", "vip " + facts.user, {per(7, seconds{7})});
  } else if (!facts.user.starts_with("free-")) {
    ask("user", facts.user, {per(5, seconds{10}), per(9, seconds{60})});
  }
  ask("trial", facts.user, {per(3, seconds{30})}, true);
  return all;
}

GateHistory::Told GateHistory::tell_model(const Facts& facts, core::Units cost, bool peek) {
  Told told{.allowed = true};
  const std::vector<Asked> policies = asked(facts, cost);
  store::Charges enforced;
  for (const Asked& one : policies)
    if (!one.shadow) enforced.insert(enforced.end(), one.charges.begin(), one.charges.end());
  if (!enforced.empty()) {
    const core::Decision decision =
        peek ? model_.peek(enforced, world_.now()) : model_.consume(enforced, world_.now());
    told.allowed = decision.verdict == Verdict::allow;
    told.impossible = decision.verdict == Verdict::impossible;
    if (decision.verdict == Verdict::deny) told.wait = decision.outcomes[decision.decisive].retry_after;
    std::size_t next = 0;
    for (const Asked& one : policies) {
      if (one.shadow) continue;
      core::Units least = core::Units{1} << 40;
      for (std::size_t i = 0; i < one.charges.size(); ++i)
        least = std::min(least, decision.outcomes[next + i].remaining);
      next += one.charges.size();
      told.remaining.emplace_back(one.policy, least);
    }
    const auto passes = [](const core::LimitOutcome& o) { return o.verdict == Verdict::allow; };
    if (!told.allowed && std::ranges::any_of(decision.outcomes, passes)) ++reached_.partly_denied;
  }
  if (!told.allowed) return told;
  told.taken = enforced;
  for (const Asked& one : policies) {
    if (!one.shadow) continue;
    const core::Decision trial =
        peek ? model_.peek(one.charges, world_.now()) : model_.consume(one.charges, world_.now());
    told.remaining.emplace_back(one.policy, trial.outcomes[0].remaining);
    if (trial.verdict == Verdict::allow)
      told.taken.insert(told.taken.end(), one.charges.begin(), one.charges.end());
    else
      ++reached_.shadow_denied;
  }
  return told;
}

std::string GateHistory::compare(const nlohmann::json& said, const Told& told, bool peek) {
  std::ostringstream wrong;
  if (!said.is_object() || !said.contains("allowed")) return "no decision: " + said.dump();
  if (said["allowed"] != told.allowed) wrong << "allowed should be " << told.allowed << "; ";
  if (!said["degraded"].is_null()) wrong << "degraded; ";
  for (const auto& [policy, remaining] : told.remaining) {
    for (const auto& one : said["policies"]) {
      // Numbers of the limit that decides: of a refusal that need not be the one with the least left. Of
      // several slots only those that were asked, and kept what they took, have numbers.
      if (one["policy"] != policy || one["remaining"].is_null() || (!told.allowed && one["allowed"] == false))
        continue;
      if (one["remaining"] != remaining) wrong << policy << " should have " << remaining << " left; ";
    }
  }
  // A wait of several slots is that of the first one that refuses.
  if (where_ == Where::memory && said["retryAfterMs"].dump() != text_of(told.wait))
    wrong << "the wait should be " << text_of(told.wait) << "; ";
  if (told.allowed && !peek && said["id"].is_null() == (!told.taken.empty() && told.taken[0].cost > 0))
    wrong << "an id for what was taken; ";
  return wrong.str().empty() ? "" : wrong.str() + said.dump();
}

std::string GateHistory::check() {
  const Facts facts = random_facts(upto(kGroups - 1));
  return check(facts, random_cost(), upto(5) == 0);
}

std::string GateHistory::check(const Facts& facts, core::Units cost, bool peek) {
  nlohmann::json attributes = nlohmann::json::object();
  if (!facts.user.empty()) attributes["user"] = facts.user;
  if (!facts.tenant.empty()) attributes["tenant"] = facts.tenant;
  if (facts.login) {
    attributes["ip"] = facts.ip;
    attributes["route"] = "POST /auth/login";
  }
  const nlohmann::json said =
      http_.post("/v1/check", {{"attributes", attributes}, {"cost", cost}, {"peek", peek}});
  const Told told = tell_model(facts, cost, peek);
  note((peek ? "peek " : "check ") + attributes.dump() + " cost " + std::to_string(cost), told.allowed);
  if (told.wait) promised_ = world_.now() + *told.wait;
  reached_.peeks += peek ? 1 : 0;
  reached_.impossible += told.impossible ? 1 : 0;
  (told.allowed ? reached_.allowed : reached_.denied)++;
  reached_.two_slots += facts.login ? 1 : 0;
  reached_.overridden += facts.user.starts_with("vip-") || facts.user.starts_with("free-") ? 1 : 0;
  const std::string wrong = compare(said, told, peek);
  if (!wrong.empty()) return "check " + attributes.dump() + " cost " + std::to_string(cost) + ": " + wrong;
  if (!peek && told.allowed && !said["id"].is_null()) {
    taken_.push_back(
        {.id = said["id"],
         .refund = {
             .charges = told.taken, .consumed_at = world_.now(), .request_id = std::to_string(refunds_++)}});
  }
  return {};
}

std::string GateHistory::refund() {
  if (taken_.empty()) return {};
  const std::size_t back = static_cast<std::size_t>(upto(4));
  Taken& taken = taken_[taken_.size() - 1 - std::min(back, taken_.size() - 1)];
  const nlohmann::json said = http_.post("/v1/refund", {{"id", taken.id}});
  const bool given = model_.refund(taken.refund, world_.now());
  (given ? reached_.refunds : taken.repeated ? reached_.refunds_repeated : reached_.refunds_late)++;
  taken.repeated = true;
  note("refund of the check at " + std::to_string(to_us(taken.refund.consumed_at)), given);
  if (said.is_object() && said.contains("refunded") && said["refunded"] == given) return {};
  return "refund should be " + std::to_string(given) + ": " + said.dump();
}

/// One call of the rate limit service with several descriptors: all or nothing over all of them.
std::string GateHistory::call() {
  rls_v3::RateLimitRequest request;
  request.set_domain("edge");
  std::vector<Told> told;
  std::vector<std::string> texts;
  const int count = 1 + upto(kGroups);
  for (int group = 0; group < count; ++group) {
    const Facts facts = random_facts(group);
    const core::Units cost = random_cost();
    auto& descriptor = *request.add_descriptors();
    const auto add = [&](const char* key, const std::string& value) {
      auto& entry = *descriptor.add_entries();
      entry.set_key(key);
      entry.set_value(value);
    };
    if (!facts.user.empty()) add("user", facts.user);
    if (!facts.tenant.empty()) add("tenant", facts.tenant);
    if (facts.login) {
      add("remote_address", facts.ip);
      add("method", "POST");
      add("path", "/auth//login");
    }
    descriptor.mutable_hits_addend()->set_value(static_cast<std::uint64_t>(cost));
    told.push_back(tell_model(facts, cost, false));
  }
  const bool all = std::ranges::all_of(told, &Told::allowed);
  for (const Told& one : told) {
    if (all || !one.allowed || one.taken.empty()) continue;
    ++reached_.rls_given_back;
    (void)model_.refund(
        {.charges = one.taken, .consumed_at = world_.now(), .request_id = std::to_string(refunds_++)},
        world_.now());
  }
  (all ? reached_.rls_allowed : reached_.rls_denied)++;
  note("call " + request.ShortDebugString(), all);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{60});
  RateLimitResponse response;
  const grpc::Status status = rls_.ShouldRateLimit(&context, request, &response);
  const std::string about = request.ShortDebugString() + " -> " + response.ShortDebugString();
  if (!status.ok()) return "call failed: " + status.error_message() + ": " + about;
  if (response.overall_code() != (all ? RateLimitResponse::OK : RateLimitResponse::OVER_LIMIT) ||
      response.statuses_size() != count)
    return "the call should be " + std::string(all ? "allowed: " : "refused: ") + about;
  for (int i = 0; i < count; ++i) {
    const Told& one = told[static_cast<std::size_t>(i)];
    const auto& answer = response.statuses(i);
    if (answer.code() != (one.allowed ? RateLimitResponse::OK : RateLimitResponse::OVER_LIMIT))
      return "descriptor " + std::to_string(i) + ": " + about;
    core::Units least = core::Units{1} << 40;
    for (const auto& [policy, remaining] : one.remaining)
      if (std::string_view(policy) != "trial") least = std::min(least, remaining);
    if (all && answer.has_current_limit() && answer.limit_remaining() != least)
      return "descriptor " + std::to_string(i) + " should have " + std::to_string(least) + " left of " +
             std::to_string(hits_of(request, i)) + ": " + about;
  }
  return {};
}

/// What is left of every counter that the history may have touched.
std::string GateHistory::settle() {
  for (int group = 0; group < kGroups; ++group) {
    const std::string own = name_ + "-" + std::to_string(group);
    for (const char* prefix : kPrefixes) {
      const Facts facts{.user = prefix + own,
                        .tenant = "t" + std::to_string(upto(2)) + "-" + own,
                        .ip = "10." + std::to_string(group) + ".0." + std::to_string(upto(2)),
                        .login = true};
      if (std::string wrong = check(facts, 1, true); !wrong.empty()) return "at the end: " + wrong;
    }
  }
  return {};
}

}  // namespace dripgate::histories
