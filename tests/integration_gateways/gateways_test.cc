// Every gateway of deploy/ with the policies of the original design, unchanged: what a client gets, whatever
// stands between it and Dripgate. Case E3 is asked of all of them.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>

#include "integration_gateways/edge.h"
#include "support/redis/redis_server.h"

namespace dripgate::integration {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr double kTokenSeconds = 0.6;  // of 100 a minute

json document_of(const Message& answer) {
  EXPECT_EQ(answer.header("Content-Type"), "application/problem+json");
  EXPECT_EQ(answer.header("Cache-Control"), "no-store")
      << "case E6: the app's own word would let it be cached";
  return json::parse(answer.body, nullptr, false);
}

void expect_unavailable(const Message& answer) {
  EXPECT_EQ(answer.status(), 503) << answer.start << answer.body;
  EXPECT_EQ(answer.header("Retry-After"), "1");
  EXPECT_EQ(answer.header("RateLimit"), "(none)");
  const json document = document_of(answer);
  EXPECT_EQ(document["type"], "/errors/limiter-unavailable") << answer.body;
  EXPECT_EQ(document["status"], 503);
  EXPECT_EQ(document["code"], "LIMITER_UNAVAILABLE");
  EXPECT_EQ(document["retryAfterSeconds"], 1);
}

class Gateways : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (program_of(GetParam()).empty())
      GTEST_SKIP() << "no " << GetParam() << " on this machine: ./dev test installs it";
  }
  static bool is_envoy() { return GetParam() == std::string("envoy"); }
};

TEST_P(Gateways, TwentyPassAtOnceAndTheNextIsRefusedWithTheWholeContract) {
  Edge edge(GetParam());
  const Ask order{.path = "/orders?page=2", .headers = edge.free_plan("k-1")};
  const auto began = std::chrono::steady_clock::now();
  const std::size_t before = edge.app.count();
  int allowed = 0, unheard = 0;
  Message answer;
  while ((answer = edge.get(order)).status() == 200 && allowed < 200) {
    EXPECT_EQ(answer.body, "the app");
    if (answer.header("RateLimit") == "(none)") {  // not heard in time: passed on, counted or not
      ++unheard;
      continue;
    }
    ++allowed;
    EXPECT_THAT(answer.header("RateLimit"), HasSubstr("\"api-free\";r="));
    EXPECT_EQ(answer.header("RateLimit-Policy"), "\"api-free\";q=100;w=60");
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  EXPECT_GE(allowed + unheard, 20);
  EXPECT_LE(allowed, 20 + static_cast<int>(std::floor(seconds / kTokenSeconds)));
  EXPECT_EQ(edge.app.count() - before, static_cast<std::size_t>(allowed + unheard));

  EXPECT_EQ(answer.status(), 429) << answer.start;
  EXPECT_EQ(answer.header("Retry-After"), "1");
  EXPECT_EQ(answer.header("RateLimit"), "\"api-free\";r=0;t=1");
  EXPECT_EQ(answer.header("RateLimit-Policy"), "\"api-free\";q=100;w=60");
  EXPECT_EQ(document_of(answer), json::parse(R"({"type":"/errors/rate-limited","title":"Too Many Requests",
    "status":429,"detail":"policy 'api-free' allows no more right now","code":"RATE_LIMITED",
    "policy":"api-free","retryAfterSeconds":1,"violated-policies":["api-free"]})"));
  EXPECT_EQ(edge.decided({.headers = edge.free_plan("k-2")}).status(), 200) << "another key";
}

TEST_P(Gateways, LoginRefusesTheEleventhInSixtySecondsHoweverItIsSpelled) {
  Edge edge(GetParam());
  int allowed = 0;
  for (const char* path : {"/auth/login", "/auth//login", "/auth/./login", "/auth/login/", "/auth/%6cogin",
                           "/auth/login?x=1", "/auth/login", "/auth/login", "/auth/login", "/auth/login"})
    allowed += edge.decided(edge.login("manoj", path)).status() == 200 ? 1 : 0;
  EXPECT_LE(allowed, 10);
  // Where one was not heard in time it passed twice, or was counted without a word: the last may be refused.
  EXPECT_GE(allowed, 8);
  const std::size_t before = edge.app.count();
  Message refused = edge.decided(edge.login("manoj"));
  while (refused.status() == 200 && ++allowed <= 10) refused = edge.decided(edge.login("manoj"));
  EXPECT_EQ(refused.status(), 429);
  EXPECT_GE(std::atoi(refused.header("Retry-After").c_str()), 1);
  EXPECT_LE(std::atoi(refused.header("Retry-After").c_str()), 60);
  EXPECT_EQ(document_of(refused)["policy"], "login");
  Ask forged = edge.login("manoj");
  for (const char* line : {"X-Forwarded-For: 9.9.9.9", "X-Forwarded-Method: GET", "X-Forwarded-Uri: /other",
                           "X-Original-Method: GET", "X-Original-URI: /other"})
    forged.headers.emplace_back(line);
  EXPECT_EQ(edge.decided(forged).status(), 429) << "what a client says of its request is not believed";
  EXPECT_LE(edge.app.count() - before, 2u);
  EXPECT_EQ(edge.decided(edge.login("other")).status(), 200);
  EXPECT_EQ(edge.get({.path = "/auth/login", .headers = {"X-Username: manoj"}}).status(), 200) << "GET";
}

TEST_P(Gateways, WhatTheClientSentReachesTheAppAndWhatTheAppSaysTheClient) {
  Edge edge(GetParam());
  std::string body;
  while (body.size() < 100'000) body += "line " + std::to_string(body.size()) + "\n";
  const Ask upload{
      .method = "POST", .path = "/upload?to=%2Fx", .headers = edge.free_plan("k-1"), .body = body};
  EXPECT_EQ(edge.decided(upload).status(), 200);
  EXPECT_EQ(edge.app.last().start, "POST /upload?to=%2Fx HTTP/1.1");
  EXPECT_TRUE(edge.app.last().body == body) << edge.app.last().body.size();
  for (const auto& [path, status] : {std::pair{"/forbidden", 403}, {"/broken", 500}}) {
    const Message answer = edge.decided({.path = path, .headers = edge.free_plan("k-1")});
    EXPECT_EQ(answer.status(), status);
    EXPECT_EQ(answer.body, "the app") << "its own refusal is not taken for the limiter's";
    EXPECT_EQ(answer.header("Cache-Control"), "public, max-age=300");
  }
  const Message unlimited = edge.get({.path = "/open"});
  EXPECT_EQ(unlimited.status(), 200);
  EXPECT_EQ(unlimited.header("RateLimit"), "(none)") << "nothing limits it";

  edge.dripgate->kill_hard();
  EXPECT_EQ(edge.get(upload).status(), 200);
  EXPECT_TRUE(edge.app.last().body == body) << edge.app.last().body.size();
  const std::size_t reached = edge.app.count();
  edge.app.stop();
  EXPECT_GE(edge.get({}).status(), 502) << "an app that is away is no limiter that is away";
  EXPECT_EQ(edge.app.count(), reached);
}

// Case E3: fixed window of 2 in 60 s, three requests, then without a limiter: 200, 200, 429; 200 or 503;
// never 500.
TEST_P(Gateways, ALimiterThatIsGonePassesOrRefusesAsTheExampleSays) {
  const std::string window = "algorithm: fixed-window\n    limit: 2\n    window: 60s\n";
  Edge edge(GetParam(),
            {{"algorithm: token-bucket\n    capacity: 20             # burst\n    refillPerMinute: 100     # "
              "sustained rate; also refillPerSecond, refillPerHour, refillPerDay\n",
              window}});
  const Ask order{.headers = edge.free_plan("k-1")};
  Message answer;
  int allowed = 0;
  while ((answer = edge.decided(order, Away::refuse)).status() == 200 && allowed < 10) ++allowed;
  EXPECT_LE(allowed, 4) << "two, and two more where a minute ends in between";
  EXPECT_EQ(answer.status(), 429) << answer.start;
  EXPECT_EQ(answer.header("RateLimit-Policy"), "\"api-free\";q=2;w=60");
  EXPECT_THAT(answer.header("RateLimit"), HasSubstr("\"api-free\";r=0;t="));
  EXPECT_EQ(document_of(answer)["code"], "RATE_LIMITED");

  const auto without_it = [&](const char* why) {
    const std::size_t before = edge.app.count();
    const auto began = std::chrono::steady_clock::now();
    const Message passed = edge.get(order, Away::pass);
    EXPECT_EQ(passed.status(), 200) << why;
    EXPECT_EQ(passed.header("RateLimit"), "(none)");
    EXPECT_EQ(edge.app.count() - before, 1u);
    const Message refused = edge.get(order, Away::refuse);
    if (is_envoy()) {
      EXPECT_EQ(refused.status(), 503) << "status_on_error, without a body";
    } else {
      expect_unavailable(refused);
    }
    EXPECT_EQ(edge.app.count() - before, 1u);
    // 20 to 100 ms each; a bound that a busy machine keeps and a wait without one does not.
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds{10}) << why;
  };
  edge.dripgate->signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return edge.get(order, Away::refuse).status() == 503; }))
      << "it may finish what it has";
  without_it("stopped, its socket open");
  edge.dripgate->signal(SIGCONT);
  EXPECT_EQ(edge.decided(order, Away::refuse).status(), 429) << "it is back";
  edge.dripgate->kill_hard();
  without_it("killed");
}

TEST_P(Gateways, WithRedisStoppedApiFreeAnswersLocallyAndLoginIsUnavailable) {
  testing::RedisServer redis;
  Edge edge(GetParam(), {{"store: { memory: {} }",
                          "store: { redis: { url: \"redis://" + redis.address() + "\", timeout: 10ms } }"}});
  EXPECT_TRUE(eventually([&] { return edge.decided(edge.login("warm-up")).status() == 200; }));
  redis.kill();
  const Message local = edge.decided({.headers = edge.free_plan("k-1")});
  EXPECT_EQ(local.status(), 200);
  EXPECT_THAT(local.header("RateLimit"), HasSubstr("\"api-free\";r=")) << "the local numbers";
  const std::size_t before = edge.app.count();
  for (const Away away : {Away::pass, Away::refuse}) {
    const Message login = edge.decided(edge.login("manoj"), away);
    expect_unavailable(login);
    EXPECT_EQ(document_of(login)["policy"], "login");
  }
  EXPECT_EQ(edge.app.count(), before)
      << "a gateway that passes while Dripgate is away opens no closed policy";
}

TEST_P(Gateways, ARequestThatDripgateCannotReadIsNoWayAround) {
  Edge edge(GetParam());
  const Lines known = edge.free_plan("k-1");
  for (int i = 0; i < 40; ++i) (void)edge.get({.headers = known});
  const std::size_t before = edge.app.count();
  const auto with = [&](const Lines& more) {
    Ask ask{.headers = known};
    ask.headers.insert(ask.headers.end(), more.begin(), more.end());
    return edge.decided(ask).status();
  };
  const std::string long_one(7'000, 'x');
  EXPECT_GE(with({"X-Username: " + long_one, "Origin: " + long_one, "Idempotency-Key: " + long_one}), 400);
  EXPECT_GE(with({"X-Username: a\x01"
                  "b"}),
            400);
  EXPECT_GE(with({"Expect: something"}), 400);
  EXPECT_GE(with({"Origin: https://evil.example", "Host: evil.example"}), 400);
  if (!is_envoy()) {
    EXPECT_EQ(edge.get({.headers = {"X-API-Key: unknown", "X-Plan: free"}}).header("RateLimit"), "(none)")
        << "a key that nobody gave out has no counter of its own";
    Ask two_keys{.headers = known};
    two_keys.headers.emplace_back("X-API-Key: k-9");
    const Message answer = edge.get(two_keys);
    EXPECT_TRUE(answer.status() == 429 || answer.header("RateLimit") == "(none)")
        << "two keys are the first, or none";
  }
  // Two that nothing limits, and a token that may have come in the meantime.
  EXPECT_LE(edge.app.count() - before, 3u);
}

TEST_P(Gateways, ATokenIsSentAndOneThatIsRefusedOpensNothing) {
  if (is_envoy()) GTEST_SKIP() << "a refused token is a failed call there: deploy/envoy/README.md";
  const std::string token = "a-token-of-the-gateway-0123456789";
  testing::ScratchFolder secrets;
  write_file(secrets.path("check"), token + "\n");
  ::setenv("DRIPGATE_TOKEN", token.c_str(), 1);
  Edge edge(GetParam(),
            {{"  forwardAuth:",
              "  tokens: [ { file: " + secrets.path("check") + ", scopes: [check] } ]\n  forwardAuth:"}},
            {{"# proxy_set_header Authorization \"Bearer …\";",
              "proxy_set_header Authorization \"Bearer " + token + "\";"},
             {"# http-request set-var-fmt(txn.dripgate_authorization)",
              "http-request set-var-fmt(txn.dripgate_authorization)"},
             {"header_up -Authorization\n\t\t# header_up", "header_up"}});
  // The client's own is for the app.
  Ask order{.headers = edge.free_plan("k-1")};
  order.headers.emplace_back("Authorization: Bearer of-the-client");
  EXPECT_EQ(edge.decided(order).status(), 200);
  EXPECT_EQ(edge.app.last().header("Authorization"), "Bearer of-the-client");

  write_file(secrets.path("check"), "another-token-0123456789-0123456789\n");
  edge.dripgate->signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return edge.get(order).status() == 503; })) << edge.dripgate->err();
  const std::size_t before = edge.app.count();
  for (const Away away : {Away::pass, Away::refuse}) expect_unavailable(edge.get(order, away));
  EXPECT_EQ(edge.app.count(), before) << "a mistake in the setup is no limiter that is away";
}

// Case E4. Envoy's own cors filter answers preflights before the rate limit filter: deploy/envoy/README.md.
TEST_P(Gateways, PreflightsAreNotCountedAndScriptsMayReadTheRefusal) {
  if (is_envoy()) GTEST_SKIP() << "its cors filter does that";
  Edge edge(GetParam());
  Lines from_script = edge.free_plan("k-1");
  from_script.emplace_back("Origin: https://shop.example");
  Lines preflight = from_script;
  preflight.emplace_back("Access-Control-Request-Method: GET");
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(edge.get({.method = "OPTIONS", .headers = preflight}).status(), 200) << i;
  Message answer = edge.decided({.headers = from_script});
  EXPECT_EQ(answer.header("RateLimit"), "\"api-free\";r=19;t=1") << "no preflight took one";
  const std::string readable = "RateLimit, RateLimit-Policy, Retry-After";
  EXPECT_EQ(answer.header("Access-Control-Expose-Headers"), readable);
  for (int i = 0; i < 200 && answer.status() == 200; ++i) answer = edge.get({.headers = from_script});
  EXPECT_EQ(answer.status(), 429);
  EXPECT_EQ(answer.header("Access-Control-Expose-Headers"), readable);
}

INSTANTIATE_TEST_SUITE_P(Deploy, Gateways, ::testing::Values("nginx", "haproxy", "caddy", "envoy"),
                         [](const auto& gateway) { return std::string(gateway.param); });

}  // namespace
}  // namespace dripgate::integration
