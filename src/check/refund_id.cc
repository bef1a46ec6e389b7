// The text within an id: "TIME REQUEST COST" ("COST/KEY" of a request with an idempotency key, escaped) and,
// per policy, " POLICY OVERRIDE KEY", then " SEAL". Keys and ids have no blanks; OVERRIDE is its place in the
// policy's list or "-" for none, then "/" and the digest of what the limits count by; or "=UNITS/WINDOW"
// (us): a limit of the request's own.
#include "check/refund_id.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include <openssl/evp.h>

#include "check/replays.h"
#include "core/counter_key.h"

namespace dripgate::check {
namespace {

constexpr std::size_t kMembersPerPolicy = 3;
constexpr std::size_t kDigestBytesUsual = 48;  // of a limit: its text grows once
constexpr std::size_t kIdBytesUsual = 192;

std::string encode(const std::string& text) {
  std::string out((text.size() + 2) / 3 * 4 + 1, '\0');
  const int n =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(n));
  return out;
}

/// Empty: no base64.
std::string decode(const std::string& id) {
  if (id.empty() || id.size() % 4 != 0 || id.size() > kRefundIdBytesMax) return {};
  std::string out(id.size() / 4 * 3 + 1, '\0');
  const int n =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(id.data()), static_cast<int>(id.size()));
  if (n < 0) return {};
  const auto padding = static_cast<std::size_t>(std::ranges::count(id.substr(id.size() - 2), '='));
  out.resize(static_cast<std::size_t>(n) - std::min(padding, static_cast<std::size_t>(n)));
  return encode(out) == id ? out : std::string();  // one spelling per id
}

void append(std::string& text, std::int64_t number) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

std::string seal(const HashKey& secret, std::string_view text) {
  return std::to_string(keyed_hash(secret, text));
}

/// Empty: no whole number.
std::optional<std::int64_t> number_of(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (code != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(std::move(word));
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
std::string digest_of(std::span<const core::Limit> limits) {
  std::string text;
  text.reserve(kDigestBytesUsual * limits.size());
  for (const core::Limit& limit : limits) {
    append(text, static_cast<int>(limit.algorithm));
    append(text += ' ', limit.window.count());
    text += ' ';
    if (limit.zone) text += limit.zone->name;
    // Under a slower refill, as under a longer log, units could be missing again when the id is no longer
    // remembered.
    if (limit.algorithm == core::Algorithm::token_bucket) append(text += ' ', limit.limit);
    text += ';';
  }
  return std::to_string(keyed_hash({}, text));
}

std::string override_word(const PlannedPolicy& plan) {
  if (plan.own_limit != nullptr) {
    return '=' + std::to_string(plan.own_limit->limit) + '/' + std::to_string(plan.own_limit->window.count());
  }
  const std::string place =
      plan.override == nullptr ? "-" : std::to_string(plan.override - plan.policy->overrides.data());
  return place + '/' + digest_of(plan.limits);
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
  if (slash == std::string_view::npos) return {};
  const auto counted_as = [&](const std::vector<core::Limit>& limits) {
    return digest_of(limits) == word.substr(slash + 1) ? limits : std::vector<core::Limit>{};
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
  const HashKey random = random_hash_key();
  process_ = std::to_string(random.first) + "-";
}

std::string RefundIds::make(const Answer& answer, core::Units cost, std::string_view idempotency_key) {
  if (cost == 0 || std::ranges::none_of(answer.policies, taken_by_store)) return {};
  std::string text;
  text.reserve(kIdBytesUsual);
  append(text, to_us(answer.now));
  text += ' ';
  append(text += process_, static_cast<std::int64_t>(++made_));
  append(text += ' ', cost);
  if (!idempotency_key.empty()) (text += '/') += core::escape_key_value(idempotency_key);
  for (const PolicyAnswer& policy : answer.policies) {
    if (!taken_by_store(policy)) continue;
    ((text += ' ') += policy.plan.policy->id) += ' ';
    ((text += override_word(policy.plan)) += ' ') += policy.plan.keys.front();
  }
  const std::string sealed = seal(secret_, text);
  return encode((text += ' ') += sealed);
}

Result<Refundable> RefundIds::read(const std::string& id, const config::Config& config) const {
  const std::string text = decode(id);
  const std::size_t last = text.rfind(' ');
  if (last == std::string::npos || text.substr(last + 1) != seal(secret_, text.substr(0, last)))
    return not_ours();
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
