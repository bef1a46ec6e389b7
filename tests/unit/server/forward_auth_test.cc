// /v1/forward-auth through the handler: what a gateway asks and what its client gets.
#include "unit/server/gate_api.h"

namespace dripgate::server {
namespace {

using namespace std::chrono_literals;
using testing::expect_problem;
using testing::GateApi;
using testing::header;
using testing::json_of;

constexpr const char* kAttributes =
    R"(forwardAuth: { attributes: { plan: "header:x-plan", apiKey: "header:x-api-key", username: "header:x-user" } })";
const http::Headers kFree{{"X-Plan", "free"}, {"X-API-Key", "k"}};

TEST(ForwardAuth, AllowsWithAnEmptyBodyAndRefusesWithTheDocument) {
  GateApi api(testing::kOriginal, kAttributes);
  for (int i = 0; i < 20; ++i) {
    const auto response = api.forward("GET", "/x", kFree);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "");
    EXPECT_EQ(header(response, "RateLimit-Policy"), "\"api-free\";q=100;w=60");
    EXPECT_EQ(header(response, "Content-Type"), "(none)");
    EXPECT_EQ(header(response, "Cache-Control"), "no-store");
  }
  const auto denied = api.forward("GET", "/x", kFree);
  EXPECT_EQ(denied.status, 429);
  EXPECT_EQ(header(denied, "Retry-After"), "1");
  EXPECT_EQ(header(denied, "RateLimit"), "\"api-free\";r=0;t=1");
  EXPECT_EQ(header(denied, "Content-Type"), "application/problem+json");
  EXPECT_EQ(header(denied, "Cache-Control"), "no-store");  // case E6
  EXPECT_EQ(json_of(denied),
            nlohmann::json::parse(R"({"type":"/errors/rate-limited","title":"Too Many Requests",
    "status":429,"detail":"policy 'api-free' allows no more right now","code":"RATE_LIMITED","policy":"api-free",
    "retryAfterSeconds":1,"violated-policies":["api-free"]})"));
  EXPECT_EQ(header(denied, "Dripgate-Status"), "429");
  expect_problem(api.forward("GET", "/x", kFree, "?deny=401"), 400, "deny=403");
}

TEST(ForwardAuth, ForNginxEveryRefusalIsA403AndTheDocumentAHeader) {  // case E3
  GateApi api(testing::kOriginal, kAttributes);
  for (int i = 0; i < 20; ++i) {
    const auto allowed = api.forward("GET", "/x", kFree, "?deny=403");
    EXPECT_EQ(allowed.status, 200);
    EXPECT_EQ(header(allowed, "Dripgate-Status"), "(none)");
  }
  const auto denied = api.forward("GET", "/x", kFree, "?deny=403");
  EXPECT_EQ(denied.status, 403);
  EXPECT_EQ(denied.body, "") << "nginx would close its connection over it";
  EXPECT_EQ(header(denied, "Content-Type"), "(none)");
  EXPECT_EQ(header(denied, "Retry-After"), "1");
  EXPECT_EQ(header(denied, "RateLimit"), "\"api-free\";r=0;t=1");
  EXPECT_EQ(header(denied, "Dripgate-Status"), "429");
  EXPECT_EQ(header(denied, "Dripgate-Problem") + "\n", api.forward("GET", "/x", kFree).body);
  api.world.shared.away = true;
  const auto unavailable = api.forward("POST", "/auth/login", {}, "?deny=403");
  EXPECT_EQ(unavailable.status, 403);
  EXPECT_EQ(header(unavailable, "Dripgate-Status"), "503");
  EXPECT_TRUE(header(unavailable, "Dripgate-Problem").contains("/errors/limiter-unavailable"));
}

TEST(ForwardAuth, TheStoreAwayIsADifferentAnswerFromADenial) {
  GateApi api(testing::kOriginal, kAttributes);
  api.world.shared.away = true;
  const auto login = api.forward("POST", "/auth/login", {{"X-User", "manoj"}});
  EXPECT_EQ(login.status, 503);
  EXPECT_EQ(json_of(login)["type"], "/errors/limiter-unavailable");
  EXPECT_EQ(header(login, "RateLimit"), "(none)");
  EXPECT_EQ(header(login, "Dripgate-Status"), "503");
  EXPECT_EQ(api.forward("GET", "/x", kFree).status, 200);
}

TEST(ForwardAuth, LoginRefusesTheEleventhInAnySixtySeconds) {
  GateApi api(testing::kOriginal, kAttributes);
  const auto login = [&](const char* path) {
    return api.forward("POST", path, {{"X-User", "manoj"}, {"X-Forwarded-For", "203.0.113.9"}}).status;
  };
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(login(i % 2 == 0 ? "/auth/login" : "/auth//login?x=1"), 200);
    api.world.clock.advance(1s);
  }
  EXPECT_EQ(login("/auth/%6cogin/"), 429);
  api.world.clock.advance(50s - 1us);
  EXPECT_EQ(login("/auth/login"), 429);
  api.world.clock.advance(1us);
  EXPECT_EQ(login("/auth/login"), 200);
  EXPECT_EQ(login("/auth/login"), 429);
}

TEST(ForwardAuth, BelievesOnlyTrustedPeersAndCountsTheChainFromTheRight) {  // case D2
  GateApi api("    - { id: p, key: [ip], limit: 1, window: 60s, onStoreFailure: closed }\n",
              "trustedProxies: [10.0.0.0/8]");
  const auto ask = [&](const std::string& peer, http::Headers chain) {
    chain.emplace_back("X-Forwarded-Method", "GET");
    chain.emplace_back("X-Forwarded-Uri", "/");
    auto request = testing::Api::request("GET", "/v1/forward-auth", "", std::move(chain));
    request.peer.address = peer;
    return api.call(std::move(request)).status;
  };
  EXPECT_EQ(ask("198.51.100.7", {{"X-Forwarded-For", "1.2.3.4"}}), 403);
  EXPECT_EQ(ask("127.0.0.1", {}), 403);
  EXPECT_EQ(ask("10.0.0.5", {{"X-Forwarded-For", "9.9.9.9, 203.0.113.8"}}), 200);
  EXPECT_EQ(ask("10.0.0.6", {{"X-Forwarded-For", "9.9.9.8"}, {"X-Forwarded-For", "203.0.113.8, 10.1.1.1"}}),
            429);
  EXPECT_EQ(ask("10.0.0.5", {{"X-Forwarded-For", "203.0.113.8:5123"}}), 429);
  EXPECT_EQ(ask("10.0.0.5", {{"X-Forwarded-For", "203.0.113.9"}}), 200);
}

TEST(ForwardAuth, WhatAClientWritesBesideTheGatewayIsRefused) {
  GateApi api;
  const auto ask = [&](const http::Headers& headers) {
    return api.call(testing::Api::request("GET", "/v1/forward-auth", "", headers)).status;
  };
  EXPECT_EQ(ask({{"X-Original-Method", "GET"}, {"X-Original-URI", "/a"}}), 200);
  EXPECT_EQ(
      ask({{"X-Original-Method", "POST"}, {"X-Original-URI", "/auth/login"}, {"X-Forwarded-Uri", "/a"}}),
      403);
  EXPECT_EQ(ask({{"X-Original-Method", "POST"}, {"X-Forwarded-Method", "GET"}, {"X-Original-URI", "/a"}}),
            403);
  EXPECT_EQ(ask({{"X-Forwarded-Method", "GET"}, {"X-Forwarded-Uri", "/a"}, {"X-Forwarded-Uri", "/b"}}), 403);
  EXPECT_EQ(ask({{"X-Forwarded-Method", "GET"}, {"X-Forwarded-Uri", "/a"}, {"X-Original-URI", "/./a?x"}}),
            200);
  EXPECT_EQ(ask({{"X-Forwarded-Method", "GET"}}), 400);
  EXPECT_EQ(ask({{"X-Forwarded-Method", "GET"}, {"X-Forwarded-Uri", ""}}), 400);
  EXPECT_EQ(ask({{"X-Forwarded-Method", ""}, {"X-Forwarded-Uri", "/a"}}), 400);
  EXPECT_EQ(ask({{"X-Forwarded-Method", "GET"}, {"X-Forwarded-Uri", "/a"}, {"X-Original-URI", ""}}), 403);
  EXPECT_EQ(ask({{"X-Forwarded-Uri", "/a"}}), 400);
}

TEST(ForwardAuth, AMissingOrRepeatedHeaderIsAMissingKeyAndNeverTheLastWins) {  // case D8
  const std::string policies = R"(
    - { id: tenant, key: [tenant], limit: 5, window: 60s, onStoreFailure: closed }
    - { id: per-ip, key: [ip], limit: 3, window: 60s, onStoreFailure: closed }
)";
  for (const http::Headers& headers : {http::Headers{}, http::Headers{{"X-Tenant", ""}},
                                       http::Headers{{"X-Tenant", "a"}, {"X-Tenant", "b"}}}) {
    GateApi api(policies, R"(forwardAuth: { attributes: { tenant: "header:x-tenant" } })");
    int allowed = 0;
    for (int i = 0; i < 10; ++i) allowed += api.forward("GET", "/", headers).status == 200 ? 1 : 0;
    EXPECT_EQ(allowed, 3);
  }
  GateApi strict(
      "    - { id: t, key: [tenant], limit: 5, window: 60s, onMissingKey: deny, onStoreFailure: closed }\n",
      R"(forwardAuth: { attributes: { tenant: "header:x-tenant" } })");
  const auto refused = strict.forward("GET", "/", {{"X-Tenant", "a"}, {"X-Tenant", "b"}});
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(json_of(refused)["type"], "/errors/missing-key");
  EXPECT_EQ(header(refused, "Retry-After"), "(none)");
}

TEST(ForwardAuth, APreflightIsNotCountedAndABrowserMayReadTheAnswer) {  // case E4
  GateApi api(testing::kOriginal, kAttributes);
  http::Headers cors = kFree;
  cors.emplace_back("Origin", "https://app.example");
  http::Headers preflight = cors;
  preflight.emplace_back("Access-Control-Request-Method", "GET");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(api.forward("OPTIONS", "/x", preflight).status, 200);
    EXPECT_EQ(api.forward("GET", "/x", cors).status, 200);
  }
  const auto denied = api.forward("GET", "/x", cors);
  EXPECT_EQ(denied.status, 429);
  EXPECT_EQ(header(denied, "Access-Control-Expose-Headers"), "RateLimit, RateLimit-Policy, Retry-After");
  EXPECT_EQ(api.forward("OPTIONS", "/x", kFree).status, 429);  // no preflight: it counts
  EXPECT_EQ(header(api.forward("GET", "/x", kFree), "Access-Control-Expose-Headers"), "(none)");
}

TEST(ForwardAuth, TakesAnyMethodAndTheHostOfTheClient) {
  GateApi api(
      "    - { id: p, match: { host: shop.example }, key: [ip], limit: 1, window: 60s, onStoreFailure: "
      "closed }\n");
  int expected = 200;
  for (const char* spelling : {"Shop.Example:8443", "shop.example", "shop.example.", "SHOP.example.:443"}) {
    auto request = testing::Api::request("DELETE", "/v1/forward-auth", "",
                                         {{"Host", "Shop.Example:8443"},
                                          {"X-Forwarded-Host", spelling},
                                          {"X-Forwarded-Method", "DELETE"},
                                          {"X-Forwarded-Uri", "/"}});
    EXPECT_EQ(api.call(std::move(request)).status, expected) << spelling;
    expected = 429;
  }
}

TEST(ForwardAuth, WhereTokensAreConfiguredTheGatewayNeedsOne) {
  GateApi api;
  auto guarded = *api.world.config;
  guarded.server.tokens = {{"gateway", {config::Scope::check}}};
  api.world.config = std::make_shared<const config::Config>(std::move(guarded));
  EXPECT_EQ(api.forward("GET", "/x").status, 401);
  EXPECT_EQ(api.forward("GET", "/x", {{"Authorization", "Bearer gateway"}}).status, 200);
}

}  // namespace
}  // namespace dripgate::server
