// Which policies a request takes, in which order, and that the index finds what a walk over all would.
#include "config/match.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/pattern.h"

namespace dripgate::config {
namespace {

using core::Descriptor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

core::PolicyPtr policy(std::string id, std::vector<core::MatchTerm> match) {
  auto result = std::make_shared<core::Policy>();
  result->id = std::move(id);
  result->match = std::move(match);
  return result;
}

std::vector<std::string> ids(const Matcher& matcher, const Descriptor& request) {
  std::vector<std::string> found;
  for (const core::Policy* policy : matcher.match(request)) found.push_back(policy->id);
  return found;
}

bool route_matches(const char* pattern, const char* route) {
  const auto parsed = parse_route_pattern(pattern);
  EXPECT_TRUE(parsed) << pattern;
  return parsed && matches(*parsed, split_route(route));
}

TEST(RoutePatterns, MatchAsWritten) {
  EXPECT_TRUE(route_matches("POST /auth/login", "POST /auth/login"));
  EXPECT_FALSE(route_matches("POST /auth/login", "GET /auth/login"));
  EXPECT_FALSE(route_matches("POST /auth/login", "/auth/login"));
  EXPECT_FALSE(route_matches("POST /auth/login", "POST /auth/login/"));
  EXPECT_FALSE(route_matches("POST /auth/login", "POST /auth//login"));
  EXPECT_FALSE(route_matches("POST /auth/login", "POST /Auth/login"));
  EXPECT_TRUE(route_matches("/auth/login", "DELETE /auth/login"));
  EXPECT_TRUE(route_matches("GET /users/{id}", "GET /users/7"));
  EXPECT_FALSE(route_matches("GET /users/{id}", "GET /users/"));
  EXPECT_FALSE(route_matches("GET /users/{id}", "GET /users/7/posts"));
  EXPECT_TRUE(route_matches("/users/{id}/posts", "GET /users/7/posts"));
  EXPECT_TRUE(route_matches("/users/*/posts", "GET /users/7/posts"));
  EXPECT_TRUE(route_matches("/api/**", "GET /api/v1/x"));
  EXPECT_TRUE(route_matches("/api/**", "GET /api"));
  EXPECT_TRUE(route_matches("/api/**", "GET /api/"));
  EXPECT_FALSE(route_matches("/api/**", "GET /apiary"));
  EXPECT_TRUE(route_matches("/**", "GET /"));
  EXPECT_TRUE(route_matches("/", "GET /"));
  EXPECT_FALSE(route_matches("/", "GET /x"));
}

TEST(Terms, ThatIgnoreCaseTakeAnyAndMeetThoseThatDoNot) {
  const core::MatchTerm as_written{.name = "route", .patterns = {"POST /Auth/{id}"}};
  core::MatchTerm either = as_written;
  either.ignore_case = true;
  EXPECT_TRUE(matches(compile(either), "POST /aUTH/Seven"));
  EXPECT_FALSE(matches(compile(either), "GET /auth/seven"));
  EXPECT_FALSE(matches(compile(as_written), "POST /auth/seven"));
  const CompiledTerm other = compile({.name = "route", .patterns = {"/AUTH/x"}});
  EXPECT_TRUE(overlap(compile(either), other));
  EXPECT_TRUE(overlap(other, compile(either)));
  EXPECT_FALSE(overlap(compile(as_written), other));
}

TEST(RoutePatterns, ThatMeanNothingAreRefused) {
  for (const char* pattern : {"", "x", "post /x", "POST  /x", "POST", "/a/**/b", "/a*", "/{", "/{}", "/a{b}",
                              "/{a}{b}", "/x?y=1", "GET /x y", "*/x"}) {
    EXPECT_FALSE(parse_route_pattern(pattern)) << pattern;
  }
}

TEST(Matcher, TakesEveryPolicyWhoseTermsAllHold) {
  const Matcher matcher({policy("all", {}), policy("free", {{"plan", {"free"}}}),
                         policy("free-login", {{"plan", {"free"}}, {"route", {"POST /login"}}}),
                         policy("named", {{"user", {"*"}}}),
                         policy("acme", {{"tenant", {"acme-*", "acme"}}})});
  EXPECT_THAT(ids(matcher, {}), ElementsAre("all"));
  EXPECT_THAT(ids(matcher, {{"plan", "free"}}), ElementsAre("free", "all"));
  EXPECT_THAT(ids(matcher, {{"plan", "free"}, {"route", "POST /login"}}),
              ElementsAre("free-login", "free", "all"));
  EXPECT_THAT(ids(matcher, {{"plan", "freemium"}}), ElementsAre("all"));
  EXPECT_THAT(ids(matcher, {{"user", "bob"}}), ElementsAre("named", "all"));
  EXPECT_THAT(ids(matcher, {{"user", ""}}), ElementsAre("all"));
  EXPECT_THAT(ids(matcher, {{"tenant", "acme-eu"}}), ElementsAre("acme", "all"));
  EXPECT_THAT(ids(matcher, {{"tenant", "acme"}}), ElementsAre("acme", "all"));
  EXPECT_THAT(ids(matcher, {{"tenant", "acm"}}), ElementsAre("all"));
  EXPECT_THAT(ids(Matcher({}), {{"plan", "free"}}), IsEmpty());
}

TEST(Matcher, OrdersBySpecificityAndNeverByThePlaceInTheFile) {
  std::vector<core::PolicyPtr> policies{
      policy("any", {{"route", {"*"}}}),
      policy("api", {{"route", {"/api/**"}}}),
      policy("user", {{"route", {"GET /api/users/{id}"}}}),
      policy("me", {{"route", {"GET /api/users/me"}}}),
      policy("me-too", {{"route", {"GET /api/users/me"}}}),
      policy("both", {{"route", {"/**"}}, {"plan", {"free"}}}),
      policy("none", {}),
  };
  const Descriptor request{{"route", "GET /api/users/me"}, {"plan", "free"}};
  std::mt19937 random(7);
  for (int i = 0; i < 50; ++i) {
    std::ranges::shuffle(policies, random);
    EXPECT_THAT(ids(Matcher(policies), request),
                ElementsAre("both", "me", "me-too", "user", "api", "any", "none"));
  }
}

TEST(Matcher, FindsThroughItsIndexWhatAWalkOverAllFinds) {
  std::mt19937 random(42);
  const auto pick = [&](const std::vector<std::string>& words) { return words[random() % words.size()]; };
  const std::vector<std::string> names{"plan", "tenant", "route", "user"};
  const std::vector<std::string> patterns{"free", "fr*", "f*", "pro", "*", "acme", "a*", "ac*"};
  const std::vector<std::string> routes{"GET /a",    "/a",     "/a/{x}", "/a/**", "/**",
                                        "POST /a/b", "/{x}/b", "*",      "/a/b/c"};
  const std::vector<std::string> values{"free", "fr", "f", "pro", "acme", "ac", "", "zzz", "FREE", "Ac"};
  const std::vector<std::string> paths{"GET /a", "POST /a/b", "GET /b/b", "/a/b/c", "GET /",
                                       "/a//c",  "x",         "",         "/A/b/C", "POST /A/B"};
  std::size_t matched = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<core::PolicyPtr> policies;
    for (int i = 0; i < 40; ++i) {
      std::vector<core::MatchTerm> terms;
      for (const std::string& name : names) {
        if (random() % 2 == 0) continue;
        core::MatchTerm term{name, {}, random() % 4 == 0};
        for (std::size_t n = 1 + random() % 2; n > 0; --n)
          term.patterns.push_back(pick(name == "route" ? routes : patterns));
        terms.push_back(std::move(term));
      }
      policies.push_back(policy("p" + std::to_string(i), std::move(terms)));
    }
    const Matcher matcher(policies);
    for (int i = 0; i < 20; ++i) {
      Descriptor request;
      for (const std::string& name : names) {
        if (random() % 4 != 0) request[name] = pick(name == "route" ? paths : values);
      }
      std::vector<std::string> expected;
      for (const auto& candidate : policies) {
        const bool holds = std::ranges::all_of(candidate->match, [&](const core::MatchTerm& term) {
          const auto value = request.find(term.name);
          return value != request.end() && matches(compile(term), value->second);
        });
        if (holds) expected.push_back(candidate->id);
      }
      EXPECT_THAT(ids(matcher, request), ::testing::UnorderedElementsAreArray(expected));
      matched += expected.size();
    }
  }
  EXPECT_GT(matched, 1000u);  // the generator reaches what it tests
}

TEST(Overrides, ChooseTheExactValueThenTheLongestPrefix) {
  core::Policy policy;
  for (const char* value : {"*", "acme-*", "acme-eu-*", "acme-eu-1"})
    policy.overrides.push_back({value, {}, false});
  const auto chosen = [&](const char* value) {
    const core::Override* found = override_for(policy, value);
    return found ? found->value : std::string("none");
  };
  EXPECT_EQ(chosen("acme-eu-1"), "acme-eu-1");
  EXPECT_EQ(chosen("acme-eu-2"), "acme-eu-*");
  EXPECT_EQ(chosen("acme-us"), "acme-*");
  EXPECT_EQ(chosen("other"), "*");
  EXPECT_EQ(chosen(""), "none");
  policy.overrides.clear();
  EXPECT_EQ(chosen("acme"), "none");
}

}  // namespace
}  // namespace dripgate::config
