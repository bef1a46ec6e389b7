// /v1/check, /v1/refund and /v1/explain through the handler: every field of the contract.
#include "render/gate_headers.h"
#include "server/check_text.h"
#include "unit/server/gate_api.h"

namespace dripgate::server {
namespace {

using namespace std::chrono_literals;
using testing::expect_problem;
using testing::GateApi;
using testing::header;
using testing::json_of;
using Json = nlohmann::json;

constexpr const char* kFree = R"({"attributes":{"plan":"free","apiKey":"k"}})";

TEST(Check, AnswersWithTheWholeDecision) {
  GateApi api;
  const auto response = api.post("/v1/check", kFree);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(header(response, "Content-Type"), "application/json");
  EXPECT_EQ(header(response, "Cache-Control"), "no-store");
  Json body = json_of(response);
  EXPECT_TRUE(body["id"].is_string());
  body.erase("id");
  EXPECT_EQ(body, Json::parse(R"({"allowed":true,"status":200,"policy":"api-free","limit":20,"remaining":19,
    "resetAfterSeconds":1,"retryAfterSeconds":null,"retryAfterMs":null,"degraded":null,
    "policies":[{"policy":"api-free","allowed":true,"remaining":19,"resetAfterSeconds":1}],
    "headers":{"RateLimit-Policy":"\"api-free\";q=100;w=60","RateLimit":"\"api-free\";r=19;t=1",
               "Cache-Control":"no-store"}})"));
}

TEST(Check, TheTwentyFirstCallIsDeniedWithTheDocumentFieldByField) {
  GateApi api;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(json_of(api.post("/v1/check", kFree))["allowed"], true);
  const auto response = api.post("/v1/check", kFree);
  EXPECT_EQ(response.status, 200);  // the decision; what the caller answers is its `status`
  EXPECT_EQ(json_of(response), Json::parse(R"({"allowed":false,"status":429,"policy":"api-free","limit":20,
    "remaining":0,"resetAfterSeconds":12,"retryAfterSeconds":1,"retryAfterMs":600,"degraded":null,"id":null,
    "policies":[{"policy":"api-free","allowed":false,"remaining":0,"resetAfterSeconds":12}],
    "headers":{"RateLimit-Policy":"\"api-free\";q=100;w=60","RateLimit":"\"api-free\";r=0;t=1",
               "Retry-After":"1","Cache-Control":"no-store"},
    "problem":{"type":"/errors/rate-limited","title":"Too Many Requests","status":429,
      "detail":"policy 'api-free' allows no more right now","code":"RATE_LIMITED","policy":"api-free",
      "retryAfterSeconds":1,"violated-policies":["api-free"]}})"));
}

TEST(Check, RetryAfterIsRoundedUpAndNeverZero) {  // case E1
  GateApi api("    - { id: p, key: [user], limit: 1, window: 60s, onStoreFailure: closed }\n");
  const char* body = R"({"attributes":{"user":"a"}})";
  (void)api.post("/v1/check", body);
  const auto wait = [&](Duration into) {
    api.world.clock.set(dripgate::testing::kT0 + into);
    const Json said = json_of(api.post("/v1/check", body));
    return said["retryAfterSeconds"].dump() + " " + said["retryAfterMs"].dump();
  };
  EXPECT_EQ(wait(60s - 59'100ms), "60 59100");
  EXPECT_EQ(wait(60s - 5'001ms), "6 5001");
  EXPECT_EQ(wait(60s - 1'000'001us), "2 1001");
  EXPECT_EQ(wait(60s - 1s), "1 1000");
  EXPECT_EQ(wait(60s - 200ms), "1 200");
  EXPECT_EQ(wait(60s - 1us), "1 1");
  EXPECT_EQ(wait(60s), "null null");  // the next window: allowed
}

TEST(Check, LimitZeroAndAnImpossibleCostHaveNoWait) {
  GateApi api(
      "    - { id: none, match: { z: \"*\" }, limit: 0, window: 60s, onStoreFailure: closed }\n"
      "    - { id: ten, match: { t: \"*\" }, limit: 10, window: 60s, onStoreFailure: closed }\n");
  const Json none = json_of(api.post("/v1/check", R"({"attributes":{"z":"1"}})"));
  EXPECT_EQ(none["status"], 429);
  EXPECT_EQ(none["retryAfterSeconds"], nullptr);
  EXPECT_FALSE(none["headers"].contains("Retry-After"));
  const Json impossible = json_of(api.post("/v1/check", R"({"attributes":{"t":"1"},"cost":11})"));
  EXPECT_EQ(impossible["problem"]["type"], "/errors/cost-exceeds-limit");
  EXPECT_FALSE(impossible["headers"].contains("Retry-After"));
  EXPECT_EQ(impossible["headers"]["RateLimit"], "\"ten\";r=10");
}

TEST(Check, NamesEveryPolicyAndTheOneNearestToExhaustion) {
  GateApi api(R"(
    - { id: wide, name: Per tenant, key: [tenant], limits: [ { rps: 50 }, { limit: 700, window: 90s } ], onStoreFailure: closed }
    - { id: narrow, key: [user], limit: 5, window: 10s, onStoreFailure: closed }
    - { id: trial, key: [user], limit: 1, window: 10s, shadow: true, onStoreFailure: closed }
    - { id: none, key: [user], unlimited: true, onStoreFailure: closed }
)");
  const Json body = json_of(api.post("/v1/check", R"({"attributes":{"tenant":"t","user":"u"}})"));
  EXPECT_EQ(body["headers"]["RateLimit-Policy"],
            R"("narrow";q=5;w=10, "Per tenant/RPS";q=50;w=1, "Per tenant/700/90s";q=700;w=90)");
  EXPECT_EQ(body["headers"]["RateLimit"], R"("narrow";r=4;t=10)");
  EXPECT_EQ(body["policy"], "narrow");
  ASSERT_EQ(body["policies"].size(), 4u);
  for (const Json& policy : body["policies"]) {
    if (policy["policy"] == "trial") EXPECT_EQ(policy["shadow"], true);
    if (policy["policy"] == "none") EXPECT_EQ(policy["unlimited"], true);
  }
}

TEST(Check, LegacyHeadersComeBesideTheOthers) {
  GateApi api(testing::kOriginal, "headers: legacy");
  const Json headers = json_of(api.post("/v1/check", kFree))["headers"];
  EXPECT_EQ(headers["X-RateLimit-Limit"], "20");
  EXPECT_EQ(headers["X-RateLimit-Remaining"], "19");
  EXPECT_EQ(headers["X-RateLimit-Reset"], "1");
  EXPECT_EQ(headers["RateLimit"], "\"api-free\";r=19;t=1");
}

TEST(Check, DegradedAnswersSayWhatDecidedAndCarryNoForeignNumbers) {  // case C4
  GateApi api(R"(
    - { id: local, match: { m: local }, key: [user], limit: 2, window: 60s, onStoreFailure: local }
    - { id: open, match: { m: open }, key: [user], limit: 2, window: 60s, onStoreFailure: open }
    - { id: closed, match: { m: closed }, key: [user], limit: 2, window: 60s, onStoreFailure: closed }
)");
  api.world.shared.away = true;
  const auto ask = [&](const std::string& mode) {
    return json_of(api.post("/v1/check", R"({"attributes":{"user":"a","m":")" + mode + R"("}})"));
  };
  const Json local = ask("local");
  EXPECT_EQ(local["degraded"], "local");
  EXPECT_EQ(local["headers"]["RateLimit"], "\"local\";r=1;t=30");
  const Json open = ask("open");
  EXPECT_EQ(open["allowed"], true);
  EXPECT_EQ(open["degraded"], "open");
  EXPECT_EQ(open["headers"], Json::parse(R"({"Cache-Control":"no-store"})"));
  const Json closed = ask("closed");
  EXPECT_EQ(closed["status"], 503);
  EXPECT_EQ(closed["headers"], Json::parse(R"({"Retry-After":"1","Cache-Control":"no-store"})"));
  EXPECT_EQ(closed["problem"]["type"], "/errors/limiter-unavailable");
  EXPECT_EQ(closed["problem"]["status"], 503);
}

TEST(Check, ABatchGivesEachItsOwnAnswerInOrder) {
  GateApi api("    - { id: p, key: [user], limit: 1, window: 60s, onStoreFailure: closed }\n");
  const auto response = api.post("/v1/check", R"({"checks":[{"attributes":{"user":"a"}},
    {"attributes":{"user":"a"}},{"attributes":{"user":"b"},"cost":"many"},{"attributes":{"user":"b"}}]})");
  EXPECT_EQ(response.status, 200);
  const Json decisions = json_of(response)["decisions"];
  ASSERT_EQ(decisions.size(), 4u);
  EXPECT_EQ(decisions[0]["allowed"], true);
  EXPECT_EQ(decisions[1]["allowed"], false);
  EXPECT_EQ(decisions[2]["status"], 400);
  EXPECT_EQ(decisions[2]["error"], "cost: accepted: a whole number, 0 or more");
  EXPECT_EQ(decisions[3]["allowed"], true);
}

TEST(Check, RefusesWhatItDoesNotUnderstandAndNamesThePlace) {
  GateApi api;
  for (const auto& [body, place] : std::vector<std::pair<std::string, std::string>>{
           {"", "not a JSON object"},
           {"[]", "not a JSON object"},
           {"{\"attributes\":{\"a\":\"\xff\"}}", "not a JSON object"},
           {"{}", "attributes are missing"},
           {R"({"attributes":[]})", "attributes"},
           {R"({"attributes":{"a":null}})", "attribute 'a'"},
           {R"({"attributes":{"a":1.5}})", "attribute 'a'"},
           {R"({"attributes":{"a":"1","a":"2"}})", "'a' is there twice"},
           {R"({"attributes":{},"cost":-1})", "cost"},
           {R"({"attributes":{},"cost":1.0})", "cost"},
           {R"({"attributes":{},"cost":9007199254740992})", "cost"},
           {R"({"attributes":{},"peek":1})", "peek"},
           {R"({"attributes":{},"idempotencyKey":""})", "idempotencyKey"},
           {R"({"attributes":{},"attribute":{}})", "unknown member 'attribute'"},
           {R"({"attributes":{},"cost":1,"cost":2})", "'cost' is there twice"},
           {R"({"checks":[]})", "1 to 1000"},
           {R"({"checks":[],"cost":1})", "beside checks"}}) {
    expect_problem(api.post("/v1/check", body), 400, place);
  }
  EXPECT_EQ(api.post("/v1/check", std::string(kCheckBodyBytesMax + 1, ' ')).status, 413);
  for (const char* path : {"/v1/check?peek=true", "/v1/refund?peek=true", "/v1/explain?peek=true"})
    expect_problem(api.post(path, R"({"attributes":{}})"), 400, "query parameter 'peek'");
  EXPECT_EQ(api.world.shared.consumes, 0);
}

TEST(Check, HostileValuesAreCountedEachForItself) {
  GateApi api("    - { id: p, key: [user], limit: 1, window: 60s, onStoreFailure: closed }\n");
  const std::string long_value(10'000, 'x');
  for (const std::string& value : {std::string("}{:"), std::string("a\nb"), long_value, long_value + "y",
                                   std::string("rl:{all}:p"), std::string("*")}) {
    const std::string body = Json{{"attributes", {{"user", value}}}}.dump();
    EXPECT_EQ(json_of(api.post("/v1/check", body))["allowed"], true);
    EXPECT_EQ(json_of(api.post("/v1/check", body))["allowed"], false);
  }
}

TEST(Check, TakesTheIdempotencyKeyOfTheHeaderOrTheBody) {
  GateApi api(
      "    - { id: p, key: [user], limit: 1, window: 60s, onStoreFailure: closed,"
      " idempotency: { ttl: 10m, maxReplays: 1 } }\n");
  const char* body = R"({"attributes":{"user":"a"}})";
  const http::Headers key{{"Idempotency-Key", "k"}};
  EXPECT_EQ(json_of(api.post("/v1/check", body, key))["allowed"], true);
  EXPECT_EQ(
      json_of(api.post("/v1/check",
                       R"({"attributes":{"user":"a"},"idempotencyKey":"k"})"))["policies"][0]["replayed"],
      true);
  EXPECT_EQ(json_of(api.post("/v1/check", body, key))["allowed"], false);
  for (const std::string& wrong : {std::string(), std::string(257, 'k')})
    expect_problem(api.post("/v1/check", body, {{"Idempotency-Key", wrong}}), 400, "Idempotency-Key");
}

TEST(Refund, GivesBackOnceById) {
  GateApi api;
  const Json taken =
      json_of(api.post("/v1/check", R"({"attributes":{"plan":"free","apiKey":"k"},"cost":20})"));
  EXPECT_EQ(json_of(api.post("/v1/check", kFree))["allowed"], false);
  const std::string body = Json{{"id", taken["id"]}}.dump();
  EXPECT_EQ(json_of(api.post("/v1/refund", body)), Json::parse(R"({"refunded":true})"));
  EXPECT_EQ(json_of(api.post("/v1/refund", body)), Json::parse(R"({"refunded":false})"));
  EXPECT_EQ(json_of(api.post("/v1/check", kFree))["allowed"], true);
  expect_problem(api.post("/v1/refund", R"({"id":"made up"})"), 400, "id");
  expect_problem(api.post("/v1/refund", "{}"), 400, "id");
}

TEST(Refund, TakesTheLongestIdThatACheckGivesOut) {
  const std::string part(64, 'n');  // the longest name
  std::string key;
  Json attributes;
  for (char c = 'a'; c < 'i'; ++c) {
    const std::string name = c + part.substr(1);
    key += (key.empty() ? "" : ", ") + name;
    attributes[name] = std::string(kKeyValueBytesMax, '#');
  }
  std::string policies;
  for (std::size_t i = 0; i < kChargesPerRequestMax; ++i)
    policies += "    - { id: p" + std::to_string(i) + ", key: [" + key +
                "], limit: 1, window: 60s, onStoreFailure: closed }\n";
  GateApi api(policies);
  const Json taken = json_of(api.post("/v1/check", Json{{"attributes", attributes}}.dump()));
  ASSERT_GT(taken["id"].get<std::string>().size(), 96u << 10);
  EXPECT_EQ(json_of(api.post("/v1/refund", Json{{"id", taken["id"]}}.dump())),
            Json::parse(R"({"refunded":true})"));
  EXPECT_EQ(api.post("/v1/refund", std::string(kRefundBodyBytesMax + 1, ' ')).status, 413);
}

TEST(Explain, SaysWhichPoliciesMatchAndWhyTheOthersDoNot) {
  GateApi api;
  const Json body =
      json_of(api.post("/v1/explain", R"({"attributes":{"plan":"free","apiKey":"secret-value"}})"));
  ASSERT_EQ(body["matched"].size(), 1u);
  const Json& limit = body["matched"][0]["limits"][0];
  EXPECT_EQ(limit["algorithm"], "token-bucket");
  EXPECT_EQ(limit["remaining"], 19);
  EXPECT_EQ(limit["counterKey"].get<std::string>().substr(0, 6), "rl:{k:");
  EXPECT_EQ(body.dump().find("secret-value"), std::string::npos);
  EXPECT_EQ(body["others"], Json::parse(R"([{"policy":"login","attribute":"route","present":false,
    "accepted":["POST /auth/login"]}])"));
  EXPECT_EQ(body["degraded"], nullptr);
  EXPECT_EQ(json_of(api.post("/v1/check", kFree))["remaining"], 19);
}

TEST(Explain, ARouteOfMethodAndPathIsThere) {
  GateApi api;
  const Json body = json_of(api.post("/v1/explain", R"({"attributes":{"method":"GET","path":"/x"}})"));
  const auto login =
      std::ranges::find(body["others"], "login", [](const Json& other) { return other["policy"]; });
  ASSERT_NE(login, body["others"].end()) << body;
  EXPECT_EQ((*login)["attribute"], "route");
  EXPECT_EQ((*login)["present"], true);
}

TEST(Gate, IsNotThereWhereTheProcessChecksNothing) {
  testing::Api api;
  expect_problem(api.call("POST", "/v1/check", kFree), 404);
}

TEST(Gate, NeedsTheScopeCheckWhereTokensAreConfigured) {
  GateApi api;
  auto guarded = *api.world.config;
  guarded.server.tokens = {{"checks", {config::Scope::check}}, {"feeds", {config::Scope::ingest}}};
  api.world.config = std::make_shared<const config::Config>(std::move(guarded));
  expect_problem(api.post("/v1/check", kFree), 401);
  expect_problem(api.post("/v1/check", kFree, {{"Authorization", "Bearer feeds"}}), 403, "check");
  EXPECT_EQ(api.post("/v1/check", kFree, {{"Authorization", "Bearer checks"}}).status, 200);
}

}  // namespace
}  // namespace dripgate::server
