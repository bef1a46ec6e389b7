// The gate as the real binary: the YAML of the original design, unchanged, on every store.
#include <cmath>

#include <signal.h>

#include "integration/gate_process.h"
#include "support/redis/redis_server.h"

namespace dripgate::integration {
namespace {

const http::Headers kFree{{"X-Plan", "free"}, {"X-API-Key", "k"}};
constexpr const char* kCheckFree = R"({"attributes":{"plan":"free","apiKey":"k"}})";

std::string header(const http::Response& response, const char* name) {
  const std::string* value = http::find(response.headers, name);
  return value == nullptr ? "(none)" : *value;
}

/// 20 pass at once and the next is denied; a token comes every 600 ms, which a slow machine may see.
void expect_original(GateProcess& gate) {
  const auto start = std::chrono::steady_clock::now();
  int allowed = 0;
  http::Response denied;
  for (int i = 0; i < 200; ++i) {
    denied = gate.forward("GET", "/x", kFree);
    if (denied.status != 200) break;
    EXPECT_EQ(denied.body, "");
    ++allowed;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GE(allowed, 20);
  EXPECT_LE(allowed, 20 + static_cast<int>(std::floor(seconds / 0.6)));
  EXPECT_EQ(denied.status, 429);
  EXPECT_EQ(header(denied, "Retry-After"), "1");
  EXPECT_EQ(header(denied, "RateLimit"), "\"api-free\";r=0;t=1");
  EXPECT_EQ(header(denied, "RateLimit-Policy"), "\"api-free\";q=100;w=60");
  EXPECT_EQ(header(denied, "Content-Type"), "application/problem+json");
  EXPECT_EQ(header(denied, "Cache-Control"), "no-store");
  const auto document = nlohmann::json::parse(denied.body, nullptr, false);
  EXPECT_EQ(document["type"], "/errors/rate-limited");
  EXPECT_EQ(document["status"], 429);
  EXPECT_EQ(document["code"], "RATE_LIMITED");
  EXPECT_EQ(document["policy"], "api-free");
  EXPECT_EQ(document["retryAfterSeconds"], 1);
  EXPECT_EQ(document["violated-policies"], nlohmann::json::array({"api-free"}));
}

void expect_ten_logins(GateProcess& gate) {
  const http::Headers manoj{{"X-User", "manoj"}, {"X-Forwarded-For", "203.0.113.9"}};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(gate.forward("POST", "/auth//login?next=1", manoj).status, 200) << i;
  const auto eleventh = gate.forward("POST", "/auth/login", manoj);
  EXPECT_EQ(eleventh.status, 429);
  const int wait = std::atoi(header(eleventh, "Retry-After").c_str());
  EXPECT_GE(wait, 1);
  EXPECT_LE(wait, 60);
  EXPECT_EQ(
      gate.forward("POST", "/auth/login", {{"X-User", "other"}, {"X-Forwarded-For", "203.0.113.9"}}).status,
      200);
}

TEST(Gate, TheOriginalDesignHoldsInMemory) {
  GateProcess gate("{ memory: {} }");
  ASSERT_TRUE(gate.start()) << gate.log();
  expect_original(gate);
  expect_ten_logins(gate);
}

TEST(Gate, TheOriginalDesignHoldsOnTheFileAndOutlivesAKill) {
  GateProcess gate("{ sqlite: ./gate.db }");
  ASSERT_TRUE(gate.start()) << gate.log();
  expect_original(gate);
  expect_ten_logins(gate);
  gate.process().kill_hard();
  ASSERT_TRUE(gate.start()) << gate.log();
  EXPECT_EQ(
      gate.forward("POST", "/auth/login", {{"X-User", "manoj"}, {"X-Forwarded-For", "203.0.113.9"}}).status,
      429);
}

TEST(Gate, EveryStoreIsCheckedByServeToo) {
  for (const char* store : {"{ memory: {} }", "{ sqlite: ./gate.db }"}) {
    GateProcess gate(store, original_policies(), "serve");
    ASSERT_TRUE(gate.start()) << gate.log();
    EXPECT_EQ(gate.post("/v1/check", kCheckFree)["allowed"], true);
  }
}

TEST(Gate, AReloadTakesEffectAndABadOneChangesNothing) {
  GateProcess gate("{ memory: {} }",
                   "policies: [ { id: p, key: [user], limit: 2, window: 1h, onStoreFailure: closed } ]\n");
  ASSERT_TRUE(gate.start()) << gate.log();
  const char* body = R"({"attributes":{"user":"a"}})";
  const auto allowed = [&] {
    int count = 0;
    for (int i = 0; i < 10; ++i) count += gate.post("/v1/check", body)["allowed"] == true ? 1 : 0;
    return count;
  };
  EXPECT_EQ(allowed(), 2);
  gate.write("{ memory: {} }",
             "policies: [ { id: p, key: [user], limit: 5, window: 1h, onStoreFailure: closed } ]\n");
  gate.process().signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return gate.log().contains("config reloaded"); }));
  EXPECT_EQ(allowed(), 3);
  gate.write("{ memory: {} }",
             "policies: [ { id: p, key: [user], limt: 9, window: 1h, onStoreFailure: closed } ]\n");
  gate.process().signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return gate.log().contains("config refused"); }));
  EXPECT_EQ(allowed(), 0);
}

TEST(Gate, ExplainAndMetricsShowWhatHappens) {
  GateProcess gate("{ memory: {} }");
  ASSERT_TRUE(gate.start()) << gate.log();
  (void)gate.post("/v1/check", kCheckFree);
  const Finished said = run({"explain", "--attr", "plan=free", "--attr", "apiKey=k", "--url", gate.url()},
                            gate.folder.path("explain"));
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(said.out.contains("api-free allows: enforced")) << said.out;
  EXPECT_TRUE(said.out.contains("login does not match: route is not there; accepted: POST /auth/login"))
      << said.out;
  const std::string metrics = gate.call({.method = "GET", .target = "/metrics"}).body;
  EXPECT_TRUE(metrics.contains(R"(dripgate_decisions_total{degraded="none",verdict="allowed"} 1)"))
      << metrics;
  EXPECT_TRUE(metrics.contains(R"(dripgate_policy_decisions_total{policy="api-free",verdict="allowed"} 1)"));
  EXPECT_TRUE(metrics.contains("dripgate_decision_seconds_count 1"));
}

class GateOnRedis : public ::testing::Test {
 protected:
  /// A machine that others use may need more than the 5 ms of production.
  std::string store(const std::string& timeout) const {
    return "{ redis: { url: \"redis://" + redis.address() + "\", timeout: " + timeout + " } }";
  }
  /// Until it has connected: local answers before that are no answers of Redis.
  static bool decides(GateProcess& gate) {
    return eventually([&] {
      return gate.post("/v1/check", R"({"attributes":{"plan":"free","apiKey":"warm-up"}})")["degraded"]
          .is_null();
    });
  }
  testing::RedisServer redis;
};

TEST_F(GateOnRedis, TheOriginalDesignHoldsOverTwoProcesses) {
  GateProcess one(store("5s"));
  GateProcess two(store("5s"), original_policies(), "serve");
  ASSERT_TRUE(one.start()) << one.log();
  ASSERT_TRUE(two.start()) << two.log();
  ASSERT_TRUE(decides(one) && decides(two));
  expect_original(one);
  EXPECT_EQ(two.forward("GET", "/x", kFree).status, 429);
  expect_ten_logins(two);
}

TEST_F(GateOnRedis, StoppedAnswersLocallyOrAsUnavailableAndComesBack) {
  GateProcess gate(store("100ms"));
  ASSERT_TRUE(gate.start()) << gate.log();
  ASSERT_TRUE(decides(gate));
  redis.kill();
  const auto local = gate.post("/v1/check", kCheckFree);
  EXPECT_EQ(local["allowed"], true) << local;
  EXPECT_EQ(local["degraded"], "local") << local;
  EXPECT_TRUE(local["headers"].contains("RateLimit"));
  const auto login = gate.forward("POST", "/auth/login", {{"X-User", "manoj"}});
  EXPECT_EQ(login.status, 503);
  EXPECT_EQ(header(login, "Retry-After"), "1");
  EXPECT_EQ(header(login, "RateLimit"), "(none)");
  EXPECT_EQ(nlohmann::json::parse(login.body)["type"], "/errors/limiter-unavailable");
  for (int i = 0; i < 100; ++i) (void)gate.forward("GET", "/x", {{"X-Plan", "free"}, {"X-API-Key", "busy"}});
  EXPECT_EQ(gate.forward("GET", "/x", {{"X-Plan", "free"}, {"X-API-Key", "busy"}}).status, 429);
  redis.restart();
  EXPECT_TRUE(decides(gate)) << gate.log();
  EXPECT_TRUE(
      eventually([&] { return gate.forward("POST", "/auth/login", {{"X-User", "other"}}).status == 200; }));
}

}  // namespace
}  // namespace dripgate::integration
