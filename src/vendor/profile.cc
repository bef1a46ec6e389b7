#include "vendor/profile.h"

#include <algorithm>
#include <array>

namespace dripgate::vendor {
namespace {

using namespace std::chrono_literals;
using enum Part;

constexpr Duration kDay = 24h;

constexpr Field count_of(std::string_view name, Part part, std::string_view dimension = "requests",
                         Duration window = {}) {
  return {.name = name, .part = part, .dimension = dimension, .window = window};
}
constexpr Field reset_of(std::string_view name, WaitForm form, std::string_view dimension = "requests",
                         Duration window = {}) {
  return {.name = name, .part = reset, .dimension = dimension, .window = window, .form = form};
}

constexpr std::array kGeneric{count_of("x-ratelimit-limit", limit),
                              count_of("x-ratelimit-remaining", remaining),
                              reset_of("x-ratelimit-reset", WaitForm::any_form),
                              reset_of("x-ratelimit-reset-after", WaitForm::seconds),
                              count_of("x-rate-limit-limit", limit),
                              count_of("x-rate-limit-remaining", remaining),
                              reset_of("x-rate-limit-reset", WaitForm::any_form)};
constexpr std::array kShopify{count_of("x-shopify-shop-api-call-limit", used_of_limit)};
constexpr std::array kHubspot{count_of("x-hubspot-ratelimit-max", limit),
                              count_of("x-hubspot-ratelimit-remaining", remaining),
                              count_of("x-hubspot-ratelimit-interval-milliseconds", window_ms),
                              count_of("x-hubspot-ratelimit-secondly", limit, "requests", 1s),
                              count_of("x-hubspot-ratelimit-secondly-remaining", remaining, "requests", 1s),
                              count_of("x-hubspot-ratelimit-daily", limit, "requests", kDay),
                              count_of("x-hubspot-ratelimit-daily-remaining", remaining, "requests", kDay)};
constexpr std::array kX{count_of("x-rate-limit-limit", limit),
                        count_of("x-rate-limit-remaining", remaining),
                        reset_of("x-rate-limit-reset", WaitForm::number),
                        count_of("x-app-limit-24hour-limit", limit, "requests", kDay),
                        count_of("x-app-limit-24hour-remaining", remaining, "requests", kDay),
                        reset_of("x-app-limit-24hour-reset", WaitForm::number, "requests", kDay)};
constexpr std::array kDiscord{
    count_of("x-ratelimit-limit", limit), count_of("x-ratelimit-remaining", remaining),
    reset_of("x-ratelimit-reset", WaitForm::number), reset_of("x-ratelimit-reset-after", WaitForm::seconds)};
template <WaitForm kForm>
constexpr std::array kOpenAiForms{count_of("x-ratelimit-limit-requests", limit),
                                  count_of("x-ratelimit-remaining-requests", remaining),
                                  reset_of("x-ratelimit-reset-requests", kForm),
                                  count_of("x-ratelimit-limit-tokens", limit, "tokens"),
                                  count_of("x-ratelimit-remaining-tokens", remaining, "tokens"),
                                  reset_of("x-ratelimit-reset-tokens", kForm, "tokens")};
constexpr std::array kAzureArm{count_of("x-ms-ratelimit-remaining-subscription-reads", remaining, "reads"),
                               count_of("x-ms-ratelimit-remaining-subscription-writes", remaining, "writes"),
                               count_of("x-ms-ratelimit-remaining-resource", named_remaining)};
constexpr std::array kAnthropic{
    count_of("anthropic-ratelimit-requests-limit", limit),
    count_of("anthropic-ratelimit-requests-remaining", remaining),
    reset_of("anthropic-ratelimit-requests-reset", WaitForm::time),
    count_of("anthropic-ratelimit-tokens-limit", limit, "tokens"),
    count_of("anthropic-ratelimit-tokens-remaining", remaining, "tokens"),
    reset_of("anthropic-ratelimit-tokens-reset", WaitForm::time, "tokens"),
    count_of("anthropic-ratelimit-input-tokens-limit", limit, "input-tokens"),
    count_of("anthropic-ratelimit-input-tokens-remaining", remaining, "input-tokens"),
    reset_of("anthropic-ratelimit-input-tokens-reset", WaitForm::time, "input-tokens"),
    count_of("anthropic-ratelimit-output-tokens-limit", limit, "output-tokens"),
    count_of("anthropic-ratelimit-output-tokens-remaining", remaining, "output-tokens"),
    reset_of("anthropic-ratelimit-output-tokens-reset", WaitForm::time, "output-tokens")};
constexpr std::array kZendesk{count_of("x-rate-limit", limit), count_of("x-rate-limit-remaining", remaining),
                              count_of("zendesk-ratelimit-tickets-index", reset_in_fields, "tickets-index")};
constexpr std::array kSalesforce{
    Field{.name = "sforce-limit-info", .part = used_of_limit, .window = kDay, .inner = "api-usage"}};
constexpr std::array kJira{count_of("x-ratelimit-limit", limit), count_of("x-ratelimit-remaining", remaining),
                           reset_of("x-ratelimit-reset", WaitForm::time)};
constexpr std::array kKong{count_of("x-ratelimit-limit-second", limit, "requests", 1s),
                           count_of("x-ratelimit-remaining-second", remaining, "requests", 1s),
                           count_of("x-ratelimit-limit-minute", limit, "requests", 1min),
                           count_of("x-ratelimit-remaining-minute", remaining, "requests", 1min),
                           count_of("x-ratelimit-limit-hour", limit, "requests", 1h),
                           count_of("x-ratelimit-remaining-hour", remaining, "requests", 1h),
                           count_of("x-ratelimit-limit-day", limit, "requests", kDay),
                           count_of("x-ratelimit-remaining-day", remaining, "requests", kDay)};
constexpr std::array kPrisjakt{count_of("x-rate-limit-limit", limit),
                               count_of("x-rate-limit-remaining", remaining),
                               reset_of("x-rate-limit-reset", WaitForm::milliseconds)};
constexpr std::array kMailerLite{
    count_of("x-ratelimit-limit", limit), count_of("x-ratelimit-remaining", remaining),
    reset_of("x-ratelimit-reset", WaitForm::time), reset_of("x-ratelimit-retry-after", WaitForm::seconds)};
constexpr std::array kBrevo{count_of("x-sib-ratelimit-limit", limit),
                            count_of("x-sib-ratelimit-remaining", remaining),
                            reset_of("x-sib-ratelimit-reset", WaitForm::seconds)};

constexpr std::array<std::string_view, 2> kGithubReasons{"secondary rate limit", "rate limit exceeded"};
constexpr std::array<std::string_view, 1> kShopifyReasons{"THROTTLED"};
constexpr std::array<std::string_view, 1> kSalesforceReasons{"REQUEST_LIMIT_EXCEEDED"};
constexpr std::array<std::string_view, 3> kGoogleReasons{"rateLimitExceeded", "userRateLimitExceeded",
                                                         "RESOURCE_EXHAUSTED"};
constexpr std::array<std::string_view, 1> kSlackReasons{"ratelimited"};

constexpr std::array kProfiles{
    Profile{.name = "anthropic", .fields = kAnthropic},
    Profile{.name = "apisix", .fields = kGeneric, .unavailable_refuses = true},
    Profile{.name = "azure-arm", .fields = kAzureArm},
    Profile{.name = "azure-openai", .fields = kOpenAiForms<WaitForm::duration_or_seconds>},
    Profile{.name = "brevo", .fields = kBrevo},
    Profile{.name = "cloudflare", .fields = {}},
    Profile{.name = "discord", .fields = kDiscord},
    Profile{.name = "generic", .fields = kGeneric},
    // Secondary limits show in no header: at least a minute, then twice as long each time.
    Profile{.name = "github",
            .fields = kGeneric,
            .default_freeze = 60s,
            .forbidden_may_refuse = true,
            .reasons = kGithubReasons},
    Profile{.name = "google", .fields = {}, .forbidden_may_refuse = true, .reasons = kGoogleReasons},
    Profile{.name = "hubspot", .fields = kHubspot},
    Profile{.name = "jira", .fields = kJira},
    Profile{.name = "kong", .fields = kKong},
    Profile{.name = "lemlist", .fields = kGeneric},
    Profile{.name = "mailerlite", .fields = kMailerLite},
    Profile{.name = "openai", .fields = kOpenAiForms<WaitForm::duration>},
    Profile{.name = "prisjakt", .fields = kPrisjakt},
    Profile{.name = "salesforce",
            .fields = kSalesforce,
            .forbidden_may_refuse = true,
            .reasons = kSalesforceReasons},
    Profile{.name = "shopify", .fields = kShopify, .reasons = kShopifyReasons},
    Profile{.name = "slack", .fields = {}, .reasons = kSlackReasons},
    Profile{.name = "stripe", .fields = {}},
    Profile{.name = "x", .fields = kX},
    Profile{.name = "zendesk", .fields = kZendesk},
};

}  // namespace

const Profile* find_profile(std::string_view name) {
  const auto found = std::ranges::find(kProfiles, name, &Profile::name);
  return found == kProfiles.end() ? nullptr : &*found;
}

std::string profile_names() {
  std::string names;
  for (const Profile& profile : kProfiles) names.append(names.empty() ? "" : ", ").append(profile.name);
  return names;
}

}  // namespace dripgate::vendor
