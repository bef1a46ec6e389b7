// An id is a text without blanks, whose words ',' divides: TIME,REQUEST,COST (COST/KEY of a request with an
// idempotency key, escaped) and, per policy, POLICY,OVERRIDE,KEY; then SEAL. Keys and ids of policies hold no
// ','; OVERRIDE is its place in the policy's list or "-" for none, then "/" and the digest of what the limits
// count by; or "=UNITS/WINDOW" (us): a limit of the request's own. Numbers are hexadecimal.
#include "check/refund_id.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>

#include "check/replays.h"
#include "core/counter_key.h"

namespace dripgate::check {
namespace {

constexpr std::size_t kMembersPerPolicy = 3;
constexpr std::size_t kIdBytesUsual = 192;
constexpr int kBase = 16;

/// Of a negative one its two's complement.
void append(std::string& text, std::int64_t number) {
  char digits[16];
  const auto bits = static_cast<std::uint64_t>(number);
  text.append(digits, std::to_chars(digits, digits + sizeof digits, bits, kBase).ptr);
}

/// Empty: no hexadecimal number of 64 bits.
std::optional<std::int64_t> number_of(std::string_view word) {
  std::uint64_t bits = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), bits, kBase);
  if (code != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return static_cast<std::int64_t>(bits);
}

std::int64_t seal(const HashKey& secret, std::string_view text) {
  return static_cast<std::int64_t>(keyed_hash(secret, text));
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const auto word : std::views::split(text, ',')) words.emplace_back(std::string_view(word));
  return words;
}

bool taken_by_store(const PolicyAnswer& answer) {
  const bool limited = answer.plan.role == Role::enforced || answer.plan.role == Role::shadow;
  const auto by_store = [](const core::LimitOutcome& outcome) { return !outcome.degraded; };
  return limited && !answer.replayed && !answer.outcomes.empty() &&
         answer.verdict() == core::Verdict::allow && std::ranges::all_of(answer.outcomes, by_store);
}

/// Windows of another length, or of other days, have not been charged; neither has a counter of another kind.
/// A changed number of units carries over, and so does what is refunded.
std::int64_t digest_of(std::span<const core::Limit> limits) {
  std::uint64_t digest = 0;
  for (const core::Limit& limit : limits) {
    // Under a slower refill, as under a longer log, units could be missing again when the id is no longer
    // remembered.
    const bool bucket = limit.algorithm == core::Algorithm::token_bucket;
    const std::array<std::int64_t, 3> numbers{static_cast<std::int64_t>(limit.algorithm),
                                              limit.window.count(), bucket ? limit.limit : 0};
    digest = keyed_hash({digest, 0}, {reinterpret_cast<const char*>(numbers.data()), sizeof numbers});
    if (limit.zone) digest = keyed_hash({digest, 1}, limit.zone->name);
  }
  return static_cast<std::int64_t>(digest);
}

void append_override(std::string& text, const PlannedPolicy& plan) {
  if (plan.own_limit != nullptr) {
    append(text += '=', plan.own_limit->limit);
    append(text += '/', plan.own_limit->window.count());
    return;
  }
  if (plan.override == nullptr) {
    text += '-';
  } else {
    append(text, plan.override - plan.policy->overrides.data());
  }
  append(text += '/', digest_of(plan.limits));
}

/// "=UNITS/WINDOW"; empty: not written so.
std::vector<core::Limit> own_limit(std::string_view word) {
  const std::size_t slash = word.find('/');
  const auto units = number_of(word.substr(1, slash - 1));
  const auto window = slash == std::string_view::npos ? std::nullopt : number_of(word.substr(slash + 1));
  if (!units || !window || *window <= 0) return {};
  return {core::Limit{.algorithm = core::Algorithm::fixed_window,
                      .limit = *units,
                      .window = Duration{*window},
                      .capacity = *units,
                      .zone = nullptr}};
}

/// Empty: the policy, or its override, is gone, or counts by something else now.
std::vector<core::Limit> limits_of(const config::Config& config, const std::string& policy_id,
                                   const std::string& override_word) {
  const auto policy = std::ranges::find(config.policies, policy_id, [](const auto& p) { return p->id; });
  if (policy == config.policies.end()) return {};
  if (override_word.starts_with('=')) return own_limit(override_word);
  const std::string_view word(override_word);
  const std::size_t slash = word.find('/');
  const auto digest = slash == std::string_view::npos ? std::nullopt : number_of(word.substr(slash + 1));
  if (!digest) return {};
  const auto counted_as = [&](const std::vector<core::Limit>& limits) {
    return digest_of(limits) == digest ? limits : std::vector<core::Limit>{};
  };
  if (word.substr(0, slash) == "-") return counted_as((*policy)->limits);
  const auto place = number_of(word.substr(0, slash));
  const auto& overrides = (*policy)->overrides;
  if (!place || *place < 0 || static_cast<std::size_t>(*place) >= overrides.size()) return {};
  return counted_as(overrides[static_cast<std::size_t>(*place)].limits);
}

std::unexpected<Error> not_ours() {
  return fail(ErrorCode::invalid_argument,
              "id is none that a check of this process gave out; accepted: the id of an allowed check");
}

}  // namespace

RefundIds::RefundIds(const HashKey& secret) : secret_(secret) {
  append(process_, static_cast<std::int64_t>(random_hash_key().first));
  process_ += '-';
}

std::string RefundIds::make(const Answer& answer, core::Units cost, std::string_view idempotency_key) {
  std::string id;
  if (cost == 0 || std::ranges::none_of(answer.policies, taken_by_store)) return id;
  id.reserve(kIdBytesUsual);
  append(id, to_us(answer.now));
  append((id += ',') += process_, static_cast<std::int64_t>(++made_));
  append(id += ',', cost);
  if (!idempotency_key.empty()) (id += '/') += core::escape_key_value(idempotency_key);
  for (const PolicyAnswer& policy : answer.policies) {
    if (!taken_by_store(policy)) continue;
    ((id += ',') += policy.plan.policy->id) += ',';
    append_override(id, policy.plan);
    (id += ',') += policy.plan.keys.front();
  }
  const std::int64_t sealed = seal(secret_, id);
  append(id += ',', sealed);
  return id;
}

Result<Refundable> RefundIds::read(const std::string& id, const config::Config& config) const {
  if (id.size() > kRefundIdBytesMax) return not_ours();
  const std::string_view text(id);
  const std::size_t last = text.rfind(',');
  if (last == std::string_view::npos) return not_ours();
  std::string sealed;
  append(sealed, seal(secret_, text.substr(0, last)));
  if (text.substr(last + 1) != sealed) return not_ours();
  const std::vector<std::string> words = words_of(text.substr(0, last));
  const auto at = number_of(words.at(0));
  const std::string_view cost_and_key = words.at(2);
  const std::size_t slash = cost_and_key.find('/');
  const auto cost = number_of(cost_and_key.substr(0, slash));
  if (!at || !cost) return not_ours();
  const bool retried = slash != std::string_view::npos;  // may have been, under its key
  const std::string_view key = retried ? cost_and_key.substr(slash + 1) : std::string_view();
  Refundable taken{.refund = {.charges = {}, .consumed_at = from_us(*at), .request_id = words.at(1)},
                   .replays = {}};
  for (std::size_t i = kMembersPerPolicy; i + 2 < words.size(); i += kMembersPerPolicy) {
    const std::vector<core::Limit> limits = limits_of(config, words[i], words[i + 1]);
    for (std::size_t k = 0; k < limits.size(); ++k)
      taken.refund.charges.push_back({core::limit_key(words[i + 2], k), limits[k], *cost});
    if (retried) taken.replays.push_back(replay_name(words[i + 2], limits, *cost, key));
  }
  return taken;
}

}  // namespace dripgate::check
