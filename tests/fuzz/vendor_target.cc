// What a vendor answers, in any bytes: status, headers and error code as a reading, as numbers by limit, and
// as what they change in a bucket. Rubbish neither freezes nor frees, no wait is negative or for ever, and
// what a vendor says never raises what we believe is left.
//
// Input: "PROFILE STATUS [REASON]", headers "Name: value" a line each.
#include <algorithm>
#include <charconv>
#include <map>
#include <string>

#include "base/small_letters.h"
#include "fuzz/require.h"
#include "vendor/numbers.h"

namespace dripgate::fuzz {
namespace {

using namespace std::chrono_literals;
using vendor::AnswerHeaders;
using vendor::Reading;
using vendor::Refusal;

constexpr WallTime kNow{std::chrono::seconds{1'800'000'000}};
constexpr std::size_t kHeadersMax = 100;         // fewer than the reader takes
constexpr Duration kWaitMax = 100'000'000'000s;  // until the last epoch second that the forms know
const std::string kRubbish = "\x7f";             // in no form of any field

struct Case {
  const vendor::Profile* profile = nullptr;
  vendor::VendorAnswer answer;
};

std::string_view take(std::string_view& text, char end) {
  const std::size_t length = text.find(end);
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
  return taken;
}

Case read_case(std::string_view text) {
  Case made;
  std::string_view first = take(text, '\n');
  made.profile = vendor::find_profile(take(first, ' '));
  if (made.profile == nullptr) made.profile = vendor::find_profile("generic");
  const std::string_view status = take(first, ' ');
  (void)std::from_chars(status.data(), status.data() + status.size(), made.answer.status);
  made.answer.reason = first;
  while (!text.empty() && made.answer.headers.size() < kHeadersMax) {
    std::string_view value = take(text, '\n');
    const std::string_view name = take(value, ':');
    made.answer.headers.emplace_back(name, value);
  }
  return made;
}

void append(std::string& text, const char* name, std::int64_t number) {
  text.append(name).append(std::to_string(number));
}

/// Everything that a reading says.
std::string shown(const Reading& reading) {
  std::string text;
  append(text, "refusal ", static_cast<int>(reading.refusal));
  append(text, " answered ", reading.answered ? 1 : 0);
  append(text, " retry ", reading.retry_after.value_or(-1us).count());
  append(text, " rubbish ", reading.rubbish);
  text.append(" of ").append(reading.resource);
  for (const vendor::Report& report : reading.reports) {
    text.append(" | ").append(report.dimension);
    append(text, " ", report.remaining.value_or(-1));
    append(text, "/", report.limit.value_or(-1));
    append(text, " per ", report.window.value_or(-1us).count());
    append(text, " in ", report.reset ? report.reset->wait.count() : -1);
    append(text, "-", report.reset ? report.reset->resolution.count() : 0);
  }
  return text;
}

bool is_wait(Duration wait) {
  return wait >= 0us && wait <= kWaitMax;
}

void require_sound(const Case& made, const Reading& reading) {
  const std::string text = shown(reading);
  const bool refused = reading.refusal != Refusal::none;
  require(!(refused && reading.answered), "a refusal ends no row of refusals", text);
  require(!reading.retry_after || reading.refusal == Refusal::rate, "only a refusal by rate waits", text);
  require(!reading.retry_after || is_wait(*reading.retry_after), "a wait has an end", text);
  require(reading.rubbish >= 0, "rubbish is counted", text);
  const int status = made.answer.status;
  const bool may_refuse = status == 429 || status == 503 || status == 529 || status == 403;
  require(!refused || may_refuse || !made.answer.reason.empty(), "a header alone refuses nothing", text);
  for (const vendor::Report& report : reading.reports) {
    require(report.limit.value_or(0) >= 0 && report.remaining.value_or(0) >= 0, "no count is negative", text);
    require(!report.reset || (is_wait(report.reset->wait) && report.reset->resolution >= 0us),
            "a reset has an end", text);
    require(report.window.value_or(1us) > 0us, "a window has a length", text);
  }
}

/// The same answer, written otherwise.
void require_one_meaning(const Case& made, const std::string& said) {
  const auto says = [&](const vendor::VendorAnswer& answer, WallTime now = kNow) {
    return shown(vendor::read_answer(*made.profile, answer, now));
  };
  vendor::VendorAnswer other = made.answer;
  for (auto& [name, value] : other.headers)
    for (char& c : name)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  require(says(other) == said, "the case of names says nothing", said);
  std::multimap<std::string, std::pair<std::string, std::string>> sorted;  // equal ones as they came
  for (const auto& header : made.answer.headers) sorted.emplace(small_letters(header.first), header);
  other.headers.clear();
  for (const auto& [name, header] : sorted) other.headers.push_back(header);
  require(says(other) == said, "the order of names says nothing", said);
  other = made.answer;
  other.headers.emplace_back("x-nobody-knows", "0");
  require(says(other) == said, "what nobody knows says nothing", said);
  for (const auto& [name, value] : made.answer.headers) {
    if (small_letters(name) != "date" || !vendor::read_http_date(vendor::trimmed(value))) continue;
    const auto dates = [](const auto& header) { return small_letters(header.first) == "date"; };
    if (std::ranges::count_if(made.answer.headers, dates) != 1) continue;
    require(says(made.answer, kNow + 10min) == said, "with a Date the clock says nothing", said);
  }
}

void require_rubbish_is_absent(const Case& made) {
  vendor::VendorAnswer rubbish = made.answer;
  for (auto& [name, value] : rubbish.headers) value = kRubbish;
  const Reading reading = vendor::read_answer(*made.profile, rubbish, kNow);
  const Duration by_default = made.profile->default_freeze;
  const std::string text = shown(reading);
  require(!reading.retry_after || *reading.retry_after == by_default, "rubbish freezes nothing", text);
  for (const vendor::Report& report : reading.reports)
    require(!report.limit && !report.remaining && !report.reset, "rubbish reports nothing", text);
}

core::Limit limit_of(core::Algorithm algorithm, core::Units units, Duration window) {
  return {.algorithm = algorithm, .limit = units, .window = window, .capacity = units, .zone = nullptr};
}

const core::Vendor& fuzzed_vendor() {
  static const core::Vendor made = [] {
    core::VendorPolicy policy;
    policy.limits = {limit_of(core::Algorithm::fixed_window, 100, 10s),
                     limit_of(core::Algorithm::fixed_window, 5000, 24h),
                     limit_of(core::Algorithm::token_bucket, 900, 60s)};
    core::Vendor vendor;
    vendor.id = "fuzzed";
    vendor.dimensions = {"requests", "requests", "tokens"};
    vendor.policy = std::make_shared<core::VendorPolicy>(std::move(policy));
    return vendor;
  }();
  return made;
}

/// What the answer changes in a bucket that is in use.
void require_bounded(const Case& made, const Reading& reading) {
  const core::Vendor& vendor = fuzzed_vendor();
  const core::VendorPolicy& policy = *vendor.policy;
  core::VendorState state;
  std::string id;
  for (int i = 0; i < 3; ++i) {
    const auto grant = core::acquire(state, policy, {1, 1, 100}, kNow - 2s + i * 1s);
    require(grant && grant->allowed, "there is room at first");
    id = vendor::permit_text({.of = vendor::PermitOf::store, .id = grant->permit});
  }
  const core::VendorView before = core::view(state, policy, kNow);
  vendor::ObserveCall call{.vendor = vendor.id, .attributes = {}, .id = id, .answer = made.answer};
  const auto seen = vendor::observation_of(vendor, reading, call);
  require(seen.has_value(), "every reading is an observation");
  const auto effect = core::observe(state, policy, *seen, kNow);
  require(effect.has_value(), "every observation is followed");
  const core::VendorView after = core::view(state, policy, kNow);
  const std::string text = shown(reading);
  require(effect->froze == (reading.refusal == Refusal::rate), "a refusal freezes, and nothing else", text);
  if (effect->froze)
    require(
        after.frozen_until >= kNow + policy.freeze_floor && after.frozen_until <= kNow + policy.freeze_cap,
        "a freeze has its bounds", text);
  for (std::size_t i = 0; i < policy.limits.size(); ++i) {
    require(after.remaining[i] <= before.remaining[i], "nothing is raised", text);
    const Duration longest = std::max(policy.freeze_cap, 2 * policy.limits[i].window);
    require(after.hold[i].value_or(kNow) <= kNow + longest, "a hold has its bound", text);
  }
  const auto again = core::decode_vendor(core::encode(state));
  require(again && *again == state, "what is kept reads back", text);
}

void run(std::string_view input) {
  const Case made = read_case(input);
  const Reading reading = vendor::read_answer(*made.profile, made.answer, kNow);
  require_sound(made, reading);
  require_one_meaning(made, shown(reading));
  require_rubbish_is_absent(made);
  require_bounded(made, reading);
}

}  // namespace
}  // namespace dripgate::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dripgate::fuzz::run(dripgate::fuzz::text_of(data, size));
  return 0;
}
