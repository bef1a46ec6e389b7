// Bug reports of group H, as far as they are about reading one answer; and the edges of each form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/vendor/shown.h"
#include "vendor/draft_fields.h"

namespace dripgate::testing {
namespace {

using vendor::WaitForm;

std::string wait(const std::string& text, WaitForm form = WaitForm::any_form, WallTime now = kT0) {
  const auto read = vendor::read_wait(text, form, {.now = now, .date = {}});
  return read ? shown_us(read->wait) : "absent";
}

TEST(VendorCases, H3_DateFormsAndRubbishInRetryAfter) {
  const auto retry = [](const std::string& text, WallTime now = kT0) {
    return read("generic", 429, {{"Retry-After", text}}, now);
  };
  for (const char* good : {"Fri, 15 Jan 2027 08:02:00 GMT", "Friday, 15-Jan-27 08:02:00 GMT",
                           "Fri Jan 15 08:02:00 2027", "120", " 120 "})
    EXPECT_EQ(retry(good), "rate 120s") << good;
  EXPECT_EQ(retry("120.5"), "rate 120500ms");
  for (const char* bad : {"+120", "-5", "12abc", "soon", "", "Fri, 32 Jan 2027 08:02:00 GMT", "NaN", "inf",
                          "1e300", "0x10", "1,5", "99999999999999999999", "Fri, 15 Jan 99999 08:02:00 GMT"})
    EXPECT_EQ(retry(bad), "rate") << bad;
  EXPECT_EQ(retry("Fri, 15 Jan 2027 08:02:00 GMT", kT0 + 200ms), "rate 119800ms");
}

TEST(VendorCases, H4_DurationsAndTimesInResetHeaders) {
  EXPECT_EQ(wait("1s"), "1s");
  EXPECT_EQ(wait("17ms"), "17ms");
  EXPECT_EQ(wait("1.5s"), "1500ms");
  EXPECT_EQ(wait("6m0s"), "360s");
  EXPECT_EQ(wait("1h30m0s"), "5400s");
  EXPECT_EQ(wait("2m59.56s"), "179560ms");
  EXPECT_EQ(wait("23h47m36.648s"), "85656648ms");
  EXPECT_EQ(wait("250us"), "250us");
  EXPECT_EQ(wait("1ns"), "1us") << "rounded up";
  EXPECT_EQ(wait("PT30S"), "30s");
  EXPECT_EQ(wait("2027-01-15T08:00:45Z"), "45s");
  EXPECT_EQ(wait("2027-01-15T09:00:45+01:00"), "45s");
  EXPECT_EQ(wait("2027-01-15T07:59:00Z"), "0s");
  EXPECT_EQ(wait("2027", WaitForm::seconds), "2027s");
  EXPECT_EQ(wait("2027", WaitForm::duration), "absent");
  EXPECT_EQ(wait("2027", WaitForm::time), "absent");
  for (const char* bad :
       {"6m0", "m5", "1s1h", "-1s", "P1D", "1e3s", "4hr 59min", "1.s", ".5s", "1s ", "1s1s", "s"})
    EXPECT_EQ(wait(bad == std::string("1s ") ? "1s x" : bad, WaitForm::duration), "absent") << bad;
}

TEST(VendorCases, ATimeThatNoClockShowsIsAbsentInEveryForm) {
  EXPECT_EQ(wait("5654-01-15T08:01Z"), "absent");
  EXPECT_EQ(wait("9999-12-31T23:59:59Z", WaitForm::time), "absent");
  EXPECT_EQ(wait("1969-12-31T23:59:59Z", WaitForm::time), "absent");
  EXPECT_EQ(wait("Fri, 15 Jan 5654 08:02:00 GMT", WaitForm::time), "absent");
}

TEST(VendorCases, NumbersByTheirSize) {
  EXPECT_EQ(wait("999999999", WaitForm::number), "999999999s");
  EXPECT_EQ(wait("1800000045", WaitForm::number), "45s");
  EXPECT_EQ(wait("1800000045.5", WaitForm::number), "45500ms");
  EXPECT_EQ(wait("1800000045000", WaitForm::number), "45s");
  EXPECT_EQ(wait("1800000045000000", WaitForm::number), "45s");
  EXPECT_EQ(wait("1800000045000000000", WaitForm::number), "absent") << "nanoseconds";
  EXPECT_EQ(wait("1799999990", WaitForm::number), "0s") << "just past: reset now";
  EXPECT_EQ(wait("0.0000001", WaitForm::seconds), "1us") << "rounded up";
}

TEST(VendorCases, H6_OnlyTheEmptyDimensionCounts) {
  EXPECT_EQ(read("openai", 429,
                 {{"x-ratelimit-remaining-requests", "0"},
                  {"x-ratelimit-reset-requests", "5s"},
                  {"x-ratelimit-remaining-tokens", "0"},
                  {"x-ratelimit-reset-tokens", "60s"}}),
            "rate 60s | requests 0/? in 5s | tokens 0/? in 60s");
}

TEST(VendorCases, H10_AWrongLocalClockAndNoHint) {
  const vendor::AnswerHeaders base{{"Date", "Fri, 15 Jan 2027 08:00:00 GMT"},
                                   {"X-RateLimit-Remaining", "0"},
                                   {"X-RateLimit-Reset", "1800000045"}};
  const WallTime fast = kT0 + 90s;
  EXPECT_EQ(read("generic", 429, base, fast), "rate 45s | requests 0/? in 45s");
  auto relative = base;
  relative.emplace_back("X-RateLimit-Reset-After", "45.668");
  EXPECT_EQ(read("generic", 429, relative, fast), "rate 45668ms | requests 0/? in 45668ms");
  EXPECT_EQ(read("github", 429, {{"X-RateLimit-Remaining", "4990"}, {"X-RateLimit-Reset", "1800001800"}}),
            "rate 60s | requests 4990/? in 1800s");
  EXPECT_EQ(read("github", 403, {{"X-RateLimit-Remaining", "4990"}}, kT0,
                 "You have exceeded a secondary rate limit"),
            "rate 60s | requests 4990/?");
  EXPECT_EQ(read("github", 403, {{"X-RateLimit-Remaining", "4990"}}), "failed | requests 4990/?")
      << "just forbidden";
  auto past = base;
  past[2].second = "1799999990";
  EXPECT_EQ(read("generic", 429, past, fast), "rate 0s | requests 0/? in 0s");
}

TEST(VendorCases, AMalformedFieldIsDroppedAsAWhole) {
  for (const char* bad :
       {"", "\"a\"", "\"a\";r", "\"a\";r=1.5", "\"a\";r=-1", "\"a\";r=1,", "\"a\";r=1;t=\"x\"", "1;r=1",
        "\"a;r=1", "\"a\";r=1 \"b\";r=2", "limit=100", "remaining=abc", "\"a\";r=99999999999999999999"})
    EXPECT_FALSE(vendor::read_ratelimit(bad)) << bad;
  EXPECT_TRUE(vendor::read_ratelimit("a;r=1")) << "a token as name is taken";
  EXPECT_TRUE(vendor::read_ratelimit("\"a\";r=1;pk=:cHJv:;note=\"x\", \"b\";r=2;t=9"));
  EXPECT_FALSE(vendor::read_ratelimit_policy("\"a\";q=1;w=0"));
  EXPECT_FALSE(vendor::read_ratelimit_policy("\"a\";w=60")) << "q is required";
}

TEST(VendorCases, WhatACacheAnswersSaysNothing) {
  EXPECT_EQ(read("generic", 200, {{"Age", "3"}, {"RateLimit", "\"a\";r=0;t=60"}}), "ok");
  EXPECT_EQ(read("generic", 200, {{"Age", "0"}, {"RateLimit", "\"a\";r=0;t=60"}}),
            "ok | requests 0/? in 60s");
}

TEST(VendorCases, OtherFailuresAreNoRefusal) {
  EXPECT_EQ(read("generic", 503, {}), "failed");
  EXPECT_EQ(read("generic", 503, {{"Retry-After", "7"}}), "rate 7s");
  EXPECT_EQ(read("generic", 403, {{"Retry-After", "7"}}), "failed");
  for (const int status : {408, 425, 500, 502, 504})
    EXPECT_EQ(read("generic", status, {}), "failed") << status << ": not the application's word";
  EXPECT_EQ(read("generic", 200, {{"Retry-After", "7"}}), "ok");
  EXPECT_EQ(read("anthropic", 529, {{"Retry-After", "7"}}), "rate 7s") << "overloaded";
}

TEST(VendorCases, WhatTheApplicationDislikesIsAnAnswerAndNoRefusal) {
  for (const int status : {400, 401, 403, 404, 409, 410, 422})
    EXPECT_EQ(read("generic", status, {}), "ok") << status;
  EXPECT_EQ(read("github", 404, {}), "ok");
  EXPECT_EQ(read("github", 403, {}), "failed") << "its limits may look like that";
  EXPECT_EQ(read("generic", 404, {{"Retry-After", "7"}}), "failed") << "says to wait";
  EXPECT_THAT(read("generic", 404, {{"Retry-After", "soon"}}), ::testing::StartsWith("failed"))
      << "unreadably";
  EXPECT_THAT(read("generic", 403, {{"X-RateLimit-Limit", "9"}, {"X-RateLimit-Remaining", "0"}}),
              ::testing::StartsWith("failed"));
}

TEST(VendorCases, BytesOfOtherUnitsAreNoRequests) {
  EXPECT_EQ(
      read("generic", 200,
           {{"RateLimit-Policy", "\"a\";q=1000;w=60;qu=\"content-bytes\""}, {"RateLimit", "\"a\";r=0;t=60"}}),
      "ok | content-bytes 0/1000 per 60s in 60s");
}

}  // namespace
}  // namespace dripgate::testing
