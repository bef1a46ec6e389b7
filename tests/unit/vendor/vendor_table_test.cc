// The truth table of rate-limit headers: the forms of the IETF draft, what vendors send (a row each, named
// after them), and the rules that follow. The counts are those of the table of facts that this was written
// from.
#include <set>

#include <gtest/gtest.h>

#include "core/vendor.h"
#include "unit/vendor/shown.h"

namespace dripgate::testing {
namespace {

struct Row {
  std::string name;
  std::string profile;
  int status;
  vendor::AnswerHeaders headers;
  std::string expected;
  std::string reason{};
  Duration clock_ahead{};  // of the local clock
};

const std::string kDate = "Fri, 15 Jan 2027 08:00:00 GMT";

const std::vector<Row> kDraftRows{
    {"polli 00..05, ietf 00..02",
     "generic",
     200,
     {{"RateLimit-Limit", "100, 100;w=10"}, {"RateLimit-Remaining", "50"}, {"RateLimit-Reset", "50"}},
     "ok | requests 50/100 per 10s in 50s"},
    {"03",
     "generic",
     200,
     {{"RateLimit-Limit", "10, 10;w=1, 50;w=60"}, {"RateLimit-Remaining", "5"}, {"RateLimit-Reset", "1"}},
     "ok | requests 5/10 per 1s in 1s"},
    {"04..06",
     "generic",
     200,
     {{"RateLimit-Limit", "100"},
      {"RateLimit-Policy", "100;w=10;burst=1000;comment=\"free\""},
      {"RateLimit-Remaining", "50"},
      {"RateLimit-Reset", "5"}},
     "ok | requests 50/100 per 10s in 5s"},
    {"07",
     "generic",
     200,
     {{"RateLimit", "limit=100, remaining=50, reset=5"}, {"RateLimit-Policy", "100;w=60, 1000;w=3600"}},
     "ok | requests 50/100 per 60s in 5s"},
    {"08..11",
     "generic",
     200,
     {{"RateLimit-Policy", "\"burst\";q=100;w=60,\"daily\";q=1000;w=86400"},
      {"RateLimit", "\"daily\";r=100;t=36000"}},
     "ok | requests 100/1000 per 86400s in 36000s"},
};

const std::vector<Row> kVendorRows{
    {"GitHub REST",
     "github",
     403,
     {{"X-RateLimit-Limit", "5000"},
      {"X-RateLimit-Remaining", "0"},
      {"X-RateLimit-Used", "5000"},
      {"X-RateLimit-Reset", "1800000045"},
      {"X-RateLimit-Resource", "core"},
      {"Date", kDate}},
     "rate 45s | requests 0/5000 in 45s"},
    {"Stripe", "stripe", 429, {{"Stripe-Rate-Limited-Reason", "endpoint-concurrency"}}, "concurrency"},
    {"Shopify REST (legacy)",
     "shopify",
     429,
     {{"X-Shopify-Shop-Api-Call-Limit", "32/40"}, {"Retry-After", "2.0"}},
     "rate 2s | requests 8/40"},
    {"Shopify GraphQL", "shopify", 200, {}, "rate", "THROTTLED"},
    {"HubSpot",
     "hubspot",
     200,
     {{"X-HubSpot-RateLimit-Max", "100"},
      {"X-HubSpot-RateLimit-Remaining", "99"},
      {"X-HubSpot-RateLimit-Interval-Milliseconds", "10000"},
      {"X-HubSpot-RateLimit-Daily", "250000"},
      {"X-HubSpot-RateLimit-Daily-Remaining", "0"}},
     "ok | requests 99/100 per 10s | requests 0/250000 per 86400s"},
    {"Slack", "slack", 429, {{"Retry-After", "30"}}, "rate 30s"},
    {"X (Twitter)",
     "x",
     429,
     {{"x-rate-limit-limit", "900"}, {"x-rate-limit-remaining", "0"}, {"x-rate-limit-reset", "1800000900"}},
     "rate 900s | requests 0/900 in 900s"},
    {"Discord",
     "discord",
     429,
     {{"X-RateLimit-Limit", "10"},
      {"X-RateLimit-Remaining", "9"},
      {"X-RateLimit-Reset", "1800000064.123"},
      {"X-RateLimit-Reset-After", "64.57"},
      {"X-RateLimit-Scope", "shared"},
      {"Retry-After", "1337"}},
     "rate 1337s | requests 9/10 in 64570ms"},
    {"OpenAI",
     "openai",
     200,
     {{"x-ratelimit-limit-requests", "60"},
      {"x-ratelimit-remaining-requests", "59"},
      {"x-ratelimit-reset-requests", "12ms"},
      {"x-ratelimit-limit-tokens", "150000"},
      {"x-ratelimit-remaining-tokens", "149984"},
      {"x-ratelimit-reset-tokens", "6m0s"}},
     "ok | requests 59/60 in 12ms | tokens 149984/150000 in 360s"},
    {"Azure OpenAI",
     "azure-openai",
     429,
     {{"x-ratelimit-limit-requests", "-1"},
      {"x-ratelimit-remaining-requests", "-1"},
      {"x-ratelimit-reset-requests", "0"},
      {"x-ms-retry-after-ms", "1500"}},
     "rate 1500ms | requests ?/? in 0s"},
    {"Azure ARM",
     "azure-arm",
     429,
     {{"x-ms-ratelimit-remaining-subscription-reads", "11999"},
      {"x-ms-ratelimit-remaining-resource", "Microsoft.Compute/HighCostGet3Min;46"},
      {"x-ms-ratelimit-remaining-resource", "Microsoft.Compute/HighCostGet30Min:0"},
      {"Retry-After", "17"}},
     "rate 17s | reads 11999/? | requests 0/?"},
    {"Anthropic",
     "anthropic",
     429,
     {{"anthropic-ratelimit-requests-limit", "50"},
      {"anthropic-ratelimit-requests-remaining", "49"},
      {"anthropic-ratelimit-input-tokens-remaining", "0"},
      {"anthropic-ratelimit-input-tokens-reset", "2027-01-15T08:00:45Z"},
      {"retry-after", "45"}},
     "rate 45s | requests 49/50 | input-tokens 0/? in 45s"},
    {"Zendesk",
     "zendesk",
     429,
     {{"x-rate-limit", "700"},
      {"x-rate-limit-remaining", "699"},
      {"ratelimit-limit", "100"},
      {"ratelimit-remaining", "0"},
      {"ratelimit-reset", "41"},
      {"zendesk-ratelimit-tickets-index", "total=100; remaining=99; resets=41"},
      {"Retry-After", "93"}},
     "rate 93s | requests 0/100 in 41s | tickets-index 99/100 in 41s"},
    {"Salesforce",
     "salesforce",
     403,
     {{"Sforce-Limit-Info", "api-usage=10018/100000; per-app-api-usage=17/250(appName=x)"}},
     "rate | requests 89982/100000 per 86400s",
     "REQUEST_LIMIT_EXCEEDED"},
    {"Atlassian Jira",
     "jira",
     429,
     {{"X-RateLimit-Limit", "350"},
      {"X-RateLimit-Remaining", "0"},
      {"X-RateLimit-Reset", "2027-01-15T08:01Z"}},
     "rate 60s | requests 0/350 in 60s"},
    {"Cloudflare API",
     "cloudflare",
     200,
     {{"Ratelimit-Policy", "\"default\";q=1200;w=300"}, {"Ratelimit", "\"default\";r=50;t=30"}},
     "ok | requests 50/1200 per 300s in 30s"},
    {"Kong-fronted",
     "kong",
     429,
     {{"X-RateLimit-Limit-Minute", "5"},
      {"X-RateLimit-Remaining-Minute", "0"},
      {"X-RateLimit-Limit-Hour", "100"},
      {"X-RateLimit-Remaining-Hour", "40"},
      {"Retry-After", "39"}},
     "rate 39s | requests 0/5 per 60s | requests 40/100 per 3600s"},
    {"APISIX-fronted",
     "apisix",
     503,
     {{"X-RateLimit-Limit", "2"}, {"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "42"}},
     "rate 42s | requests 0/2 in 42s"},
    {"lemlist",
     "lemlist",
     429,
     {{"X-RateLimit-Limit", "20"},
      {"X-RateLimit-Remaining", "0"},
      {"X-RateLimit-Reset", "Tue Feb 16 2021 09:02:42 GMT+0100 (Central European Standard Time)"},
      {"Retry-After", "2"}},
     "rate 2s | requests 0/20"},
    {"Prisjakt",
     "prisjakt",
     429,
     {{"X-Rate-Limit-Limit", "100"}, {"X-Rate-Limit-Remaining", "0"}, {"X-Rate-Limit-Reset", "600000"}},
     "rate 600s | requests 0/100 in 600s"},
    {"MailerLite classic",
     "mailerlite",
     429,
     {{"X-RateLimit-Limit", "60"},
      {"X-RateLimit-Remaining", "0"},
      {"X-RateLimit-Reset", "2027-01-15T08:00:59Z"},
      {"X-RateLimit-Retry-After", "59"}},
     "rate 59s | requests 0/60 in 59s"},
    {"Brevo",
     "brevo",
     429,
     {{"x-sib-ratelimit-limit", "100"},
      {"x-sib-ratelimit-remaining", "0"},
      {"x-sib-ratelimit-reset", "3600"}},
     "rate 3600s | requests 0/100 in 3600s"},
    {"Google APIs",
     "google",
     403,
     {{"Retry-After", "Fri, 15 Jan 2027 08:00:30 GMT"}},
     "rate 30s",
     "rateLimitExceeded"},
};

const std::vector<Row> kRuleRows{
    {"1 classes of numbers",
     "generic",
     429,
     {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1800000045000"}},
     "rate 45s | requests 0/? in 45s"},
    {"2 times against Date",
     "generic",
     429,
     {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1800000045"}, {"Date", kDate}},
     "rate 45s | requests 0/? in 45s",
     "",
     10min},
    {"3 decimals", "generic", 429, {{"Retry-After", "120.5"}}, "rate 120500ms"},
    {"4 order of hints",
     "generic",
     429,
     {{"Retry-After", "9"}, {"retry-after-ms", "250"}, {"x-ms-retry-after-ms", "800"}},
     "rate 250ms"},
    {"5 used of limit, several dimensions",
     "openai",
     429,
     {{"x-ratelimit-remaining-requests", "0"},
      {"x-ratelimit-reset-requests", "5s"},
      {"x-ratelimit-remaining-tokens", "16000"},
      {"x-ratelimit-reset-tokens", "60s"}},
     "rate 5s | requests 0/? in 5s | tokens 16000/? in 60s"},
    {"6 rubbish",
     "generic",
     200,
     {{"X-RateLimit-Remaining", "-1"}, {"X-RateLimit-Limit", "1e300"}, {"X-RateLimit-Reset", "inf"}},
     "ok | requests ?/?"},
    {"7 what no freeze helps", "stripe", 429, {{"Retry-After", "5"}}, "lock", "lock_timeout"},
    {"8 refused with plenty left",
     "shopify",
     429,
     {{"X-Shopify-Shop-Api-Call-Limit", "1/40"}},
     "rate | requests 39/40"},
    {"9 nothing said", "generic", 200, {}, "ok"},
};

void play(const std::vector<Row>& rows, std::size_t count) {
  std::set<std::string> names;
  for (const Row& row : rows) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(read(row.profile, row.status, row.headers, kT0 + row.clock_ahead, row.reason), row.expected)
        << row.name;
  }
  EXPECT_EQ(names.size(), count);
}

TEST(VendorTable, TheFormsOfTheDraft) {
  play(kDraftRows, 5);
}
TEST(VendorTable, EveryVendorOfTheTable) {
  play(kVendorRows, 23);
}
TEST(VendorTable, TheNineRules) {
  play(kRuleRows, 9);
}

TEST(VendorTable, EveryProfileHasARow) {
  std::set<std::string> used;
  for (const auto* rows : {&kDraftRows, &kVendorRows, &kRuleRows})
    for (const Row& row : *rows) used.insert(row.profile);
  std::string names;
  for (const std::string& name : used) names += (names.empty() ? "" : ", ") + name;
  EXPECT_EQ(names, vendor::profile_names());
  for (const std::string_view known : core::kVendorProfiles)
    EXPECT_NE(vendor::find_profile(known), nullptr) << known;
  EXPECT_EQ(core::kVendorProfiles.size(), used.size());
}

}  // namespace
}  // namespace dripgate::testing
