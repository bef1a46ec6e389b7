// Streams, keys, dead letters, the process, and who may use them: through the handler, over a fake service.
#include <set>

#include "server/body.h"
#include "unit/server/fake_service.h"

namespace dripgate::server {
namespace {

using testing::Api;
using testing::expect_problem;
using testing::json_of;
using testing::kNow;
using Json = nlohmann::json;

TEST(Streams, ShowTheirStatus) {
  Api api;
  api.service.pipeline = {.paused = true,
                          .outstanding = 2,
                          .backlog = 5,
                          .oldest_slot = kNow,
                          .eta = kNow + 60s,
                          .dead_letters = 1,
                          .last_error = Error{ErrorCode::timed_out, true, "the timer did not answer"}};
  const Json expected = Json::parse(R"({"id":"payouts","paused":true,"inFlight":2,"backlog":5,
    "oldestSlot":"2027-01-15T08:00:00Z","eta":"2027-01-15T08:01:00Z","deadLetters":1,
    "lastError":{"code":"timed_out","detail":"the timer did not answer"}})");
  EXPECT_EQ(json_of(api.call("GET", "/v1/streams/payouts")), expected);
  const Json all = json_of(api.call("GET", "/v1/streams"));
  ASSERT_EQ(all["streams"].size(), 2u);
  EXPECT_EQ(all["streams"][0], expected);
  EXPECT_EQ(all["streams"][1]["id"], "mails");
  expect_problem(api.call("GET", "/v1/streams/nope"), 404, "nope");
  expect_problem(api.call("GET", "/v1/streams/payouts?verbose=1"), 400, "accepted: none");
  api.service.error = Error{ErrorCode::unavailable, true, "down"};
  expect_problem(api.call("GET", "/v1/streams/payouts"), 503);
  EXPECT_EQ(json_of(api.call("GET", "/v1/streams"))["streams"][0]["error"], "down");
}

TEST(Keys, AreDecodedAndShownWithTheLimitsThatCountThem) {
  Api api;
  const auto response = api.call("GET", "/v1/streams/payouts/keys/merchant_1%3Apayout%2Fx");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(api.service.calls, std::vector<std::string>{"key payouts merchant_1:payout/x"});
  EXPECT_EQ(json_of(response), Json::parse(R"({"stream":"payouts","key":"merchant_1:payout/x",
    "bookingKey":"payouts:merchant_1:payout/x","now":"2027-01-15T08:00:00Z","frozenUntil":null,"pending":7,
    "nextSlot":"2027-01-15T08:00:05Z","eta":"2027-01-15T08:00:04Z",
    "limits":[{"windowType":"RPM","limit":100,"released":42}]})"));
  expect_problem(api.call("GET", "/v1/streams/payouts/keys/%zz"), 400);
  expect_problem(api.call("GET", "/v1/streams/payouts/keys/"), 404);
}

TEST(Keys, AreFrozenUntilATimeOrForASpan) {
  Api api;
  const auto until =
      api.call("POST", "/v1/streams/payouts/keys/k/freeze", R"({"until":"2027-01-15T08:00:30Z"})");
  EXPECT_EQ(until.status, 200);
  EXPECT_EQ(json_of(until)["frozenUntil"], "2027-01-15T08:00:30Z");
  (void)api.call("POST", "/v1/streams/payouts/keys/k/freeze", R"({"for":"1.5m"})");
  EXPECT_EQ(api.service.calls,
            (std::vector<std::string>{"freeze payouts k 1800000030", "freeze payouts k 1800000090"}));
  for (const char* bad :
       {"", "{}", "[]", "nonsense", R"({"until":"soon"})", R"({"for":"30"})", R"({"for":30})",
        R"({"for":"-1s"})", R"({"until":"2027-01-15T08:00:30Z","for":"1s"})",
        R"({"until":"2026-01-15T08:00:30Z"})"}) {
    expect_problem(api.call("POST", "/v1/streams/payouts/keys/k/freeze", bad), 400);
  }
  expect_problem(api.call("POST", "/v1/streams/payouts/keys/k/freeze", R"({"til":"1s"})"), 400,
                 "unknown member 'til'; accepted: until, for");
  EXPECT_EQ(api.service.calls.size(), 2u);
}

TEST(Operators, ThawResetPauseAndResume) {
  Api api;
  EXPECT_EQ(api.call("POST", "/v1/streams/payouts/keys/k/thaw").status, 200);
  EXPECT_EQ(api.call("POST", "/v1/streams/payouts/keys/k/reset", "{}").status, 200);
  EXPECT_EQ(json_of(api.call("POST", "/v1/streams/payouts/pause")),
            Json::parse(R"({"stream":"payouts","paused":true})"));
  EXPECT_EQ(json_of(api.call("POST", "/v1/streams/payouts/resume")),
            Json::parse(R"({"stream":"payouts","paused":false})"));
  EXPECT_EQ(api.service.calls, (std::vector<std::string>{"thaw payouts k", "reset payouts k", "pause payouts",
                                                         "resume payouts"}));
  expect_problem(api.call("POST", "/v1/streams/payouts/pause", R"({"now":true})"), 400, "accepted: none");
}

TEST(Operators, LeaveAnAuditLineForSuccessAndFailure) {
  Api api;
  api.config = Api::load({{.secret = "s3cret", .scopes = {config::Scope::admin}}});
  (void)api.call("POST", "/v1/streams/payouts/keys/k/thaw", "", {{"Authorization", "Bearer s3cret"}});
  api.service.error = Error{ErrorCode::unavailable, true, "down"};
  (void)api.call("POST", "/v1/streams/payouts/dead-letters/replay", "", {{"Authorization", "Bearer s3cret"}});
  (void)api.call("GET", "/v1/streams/payouts", "", {{"Authorization", "Bearer s3cret"}});
  ASSERT_EQ(api.lines.size(), 2u) << "reading leaves none";
  const Json thaw = Json::parse(api.lines[0]);
  EXPECT_EQ(thaw["audit"], true);
  EXPECT_EQ(thaw["event"], "thaw");
  EXPECT_EQ(thaw["stream"], "payouts");
  EXPECT_EQ(thaw["subject"], "k");
  EXPECT_EQ(thaw["outcome"], "done");
  EXPECT_EQ(thaw["peer"], "127.0.0.1");
  EXPECT_TRUE(thaw["by"].get<std::string>().starts_with("token:"));
  EXPECT_EQ(Json::parse(api.lines[1])["outcome"], "unavailable");
  for (const auto& line : api.lines) EXPECT_EQ(line.find("s3cret"), std::string::npos);
}

broker::DeadLetter letter(std::uint64_t sequence, std::string body) {
  return {
      .sequence = sequence,
      .event_id = "e" + std::to_string(sequence),
      .key = {},
      .reason = "malformed_payload",
      .detail = "not JSON",
      .message = {.id = "m", .body = std::move(body), .attributes = {{"tenant", "t1"}}, .published = kNow},
      .first_received = kNow,
      .dead_at = kNow + 1s,
      .attempts = 2};
}

TEST(DeadLetters, AreListedInPages) {
  Api api;
  for (std::uint64_t i = 1; i <= 3; ++i) api.service.letters[i] = letter(i, "{x");
  const Json page = json_of(api.call("GET", "/v1/streams/payouts/dead-letters?limit=2"));
  EXPECT_EQ(page["total"], 3);
  EXPECT_EQ(page["next"], 2);
  ASSERT_EQ(page["deadLetters"].size(), 2u);
  EXPECT_EQ(page["deadLetters"][0],
            Json::parse(R"({"seq":1,"id":"e1","key":null,"reason":"malformed_payload","detail":"not JSON",
    "firstReceived":"2027-01-15T08:00:00Z","deadAt":"2027-01-15T08:00:01Z","attempts":2,"bytes":2})"));
  const Json rest = json_of(api.call("GET", "/v1/streams/payouts/dead-letters?after=2&limit=2"));
  EXPECT_EQ(rest["deadLetters"].size(), 1u);
  EXPECT_TRUE(rest["next"].is_null());
  (void)api.call("GET", "/v1/streams/payouts/dead-letters");
  EXPECT_EQ(api.service.calls.back(), "letters payouts 0 100");
  for (const char* bad : {"limit=0", "limit=201", "limit=x", "after=-1", "limit=1&limit=2", "from=3"}) {
    expect_problem(api.call("GET", std::string("/v1/streams/payouts/dead-letters?") + bad), 400);
  }
}

TEST(DeadLetters, AreShownWithTheirOriginalBytes) {
  Api api;
  api.service.letters[1] = letter(1, "{\"n\": 1.00");
  api.service.letters[2] = letter(2, std::string("\xff\x00\x01", 3));
  api.service.letters[2].key = "payouts:payout";
  const Json text = json_of(api.call("GET", "/v1/streams/payouts/dead-letters/1"));
  EXPECT_EQ(text["body"], "{\"n\": 1.00");
  EXPECT_EQ(text["bodyBase64"], "eyJuIjogMS4wMA==");
  EXPECT_EQ(text["attributes"], Json::parse(R"({"tenant":"t1"})"));
  const Json bytes = json_of(api.call("GET", "/v1/streams/payouts/dead-letters/2"));
  EXPECT_EQ(bytes["key"], "payouts:payout") << "as rendered, also where it begins as the stream is called";
  EXPECT_TRUE(bytes["body"].is_null());
  EXPECT_EQ(bytes["bodyBase64"], "/wAB");
  for (const char* none : {"3", "x", "-1", "replay", "18446744073709551616", "9223372036854775808"}) {
    expect_problem(api.call("GET", std::string("/v1/streams/payouts/dead-letters/") + none), 404);
  }
}

TEST(DeadLetters, AreReplayedRemovedAndPurged) {
  Api api;
  api.service.letters[1] = letter(1, "a");
  api.service.letters[2] = letter(2, "b");
  EXPECT_EQ(json_of(api.call("POST", "/v1/streams/payouts/dead-letters/1/replay")),
            Json::parse(R"({"replaying":1,"id":"e1"})"));
  EXPECT_EQ(json_of(api.call("POST", "/v1/streams/payouts/dead-letters/replay", R"({"perSecond":7})")),
            Json::parse(R"({"replaying":2})"));
  (void)api.call("POST", "/v1/streams/payouts/dead-letters/replay");
  EXPECT_EQ(json_of(api.call("DELETE", "/v1/streams/payouts/dead-letters/2")),
            Json::parse(R"({"removed":1})"));
  expect_problem(api.call("DELETE", "/v1/streams/payouts/dead-letters/2"), 404);
  expect_problem(api.call("POST", "/v1/streams/payouts/dead-letters/2/replay"), 404);
  EXPECT_EQ(json_of(api.call("POST", "/v1/streams/payouts/dead-letters/purge", R"({"olderThan":"24h"})")),
            Json::parse(R"({"removed":1})"));
  EXPECT_EQ(api.service.calls,
            (std::vector<std::string>{"letter payouts 1", "replay payouts 1 100", "replay payouts all 7",
                                      "replay payouts all 100", "purge payouts 2", "purge payouts 2",
                                      "letter payouts 2", "purge payouts before 1799913600"}));
  for (const char* bad : {R"({"perSecond":0})", R"({"perSecond":1.5})", R"({"perSecond":"9"})",
                          R"({"rate":1})", R"({"perSecond":1e99})", R"({"perSecond":1,"perSecond":2})"}) {
    expect_problem(api.call("POST", "/v1/streams/payouts/dead-letters/replay", bad), 400);
  }
  for (const char* bad :
       {"", "{}", R"({"olderThan":24})", R"({"olderThan":"yesterday"})", R"({"older":"1h"})"}) {
    expect_problem(api.call("POST", "/v1/streams/payouts/dead-letters/purge", bad), 400);
  }
}

TEST(DeadLetters, SayWhenAReplayIsAConflictThatGoesOutUnderAnIdOfItsOwn) {
  Api api;
  api.service.letters[1] = letter(1, "a");
  api.service.letters[1].event_id = "pay_1#00ab";
  api.service.letters[1].reason = "id_conflict";
  EXPECT_EQ(json_of(api.call("POST", "/v1/streams/payouts/dead-letters/1/replay")),
            Json::parse(R"({"replaying":1,"id":"pay_1#00ab","conflict":true})"));
}

TEST(DeadLetters, LeaveAnAuditLineOfAPurgeBeforeItsFirstBatchAndAfterItsLast) {
  Api api;
  (void)api.call("POST", "/v1/streams/payouts/dead-letters/purge", R"({"olderThan":"24h"})");
  std::vector<std::string> outcomes;
  for (const std::string& line : api.lines) {
    const Json audit = Json::parse(line);
    if (audit.value("audit", false)) outcomes.push_back(audit["outcome"]);
  }
  EXPECT_EQ(outcomes, (std::vector<std::string>{"begun", "0"}));
}

TEST(Process, ServesMetricsWithFreshGauges) {
  Api api;
  api.service.pipeline.backlog = 12;
  const auto response = api.call("GET", "/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(http::find(response.headers, "Content-Type")->starts_with("text/plain; version=0.0.4"));
  EXPECT_NE(response.body.find("dripgate_backlog{stream=\"mails\"} 12\n"), std::string::npos);
  EXPECT_NE(response.body.find("dripgate_ready 1\n"), std::string::npos);
  const auto again = api.call("GET", "/metrics");
  EXPECT_NE(again.body.find("dripgate_http_requests_total{route=\"/metrics\",status=\"200\"} 1\n"),
            std::string::npos);
}

TEST(Process, IsReadyOrSaysWhyNot) {
  Api api;
  EXPECT_EQ(json_of(api.call("GET", "/readyz")).at("ready"), true);
  api.service.ready = {.ready = false, .reasons = {"store: locked"}, .warnings = {}};
  const auto response = api.call("GET", "/readyz");
  expect_problem(response, 503);
  EXPECT_EQ(json_of(response)["reasons"], Json::parse(R"(["store: locked"])"));
  EXPECT_EQ(api.call("GET", "/healthz").body, "ok\n");
}

TEST(Dispatch, TellsUnknownPathsFromUnknownMethods) {
  Api api;
  for (const char* path : {"/", "/v1", "/v1/streams/", "/v1/streams/payouts/", "/v1/streams/payouts/events/1",
                           "/V1/streams", "/metrics/x", "/v2/streams"}) {
    expect_problem(api.call("GET", path), 404);
  }
  const auto response = api.call("PUT", "/v1/streams/payouts/dead-letters/1");
  expect_problem(response, 405);
  EXPECT_EQ(*http::find(response.headers, "Allow"), "GET, HEAD, DELETE");
  EXPECT_EQ(*http::find(api.call("GET", "/v1/streams/payouts/events").headers, "Allow"), "POST");
  expect_problem(api.call("GET", "http://127.0.0.1/metrics"), 400);
  EXPECT_EQ(api.call("HEAD", "/healthz").status, 200);
  EXPECT_EQ(*http::find(api.call("GET", "/healthz").headers, "Cache-Control"), "no-store");
}

struct Access : ::testing::Test {
  Api api;
  Access() {
    using config::Scope;
    api.config = Api::load({{.secret = "in", .scopes = {Scope::ingest}},
                            {.secret = "out", .scopes = {Scope::consume}},
                            {.secret = "adm", .scopes = {Scope::admin}},
                            {.secret = "chk", .scopes = {Scope::check}}});
  }
  int status(const std::string& method, const std::string& target, const std::string& token) {
    http::Headers headers;
    if (!token.empty()) headers.emplace_back("Authorization", "Bearer " + token);
    return api.call(method, target, method == "POST" && target.ends_with("events") ? "1" : "", headers)
        .status;
  }
};

TEST_F(Access, EachRouteTakesItsScopesAndNoOther) {
  struct Case {
    const char* method;
    const char* target;
    std::set<std::string> accepted;
  };
  for (const Case& c :
       {Case{"POST", "/v1/streams/payouts/events", {"in"}}, Case{"GET", "/v1/streams", {"in", "out", "adm"}},
        Case{"GET", "/v1/streams/payouts", {"in", "out", "adm"}},
        Case{"GET", "/v1/streams/payouts/keys/k", {"in", "out", "adm"}},
        Case{"GET", "/v1/streams/payouts/dead-letters", {"out", "adm"}},
        Case{"POST", "/v1/streams/payouts/keys/k/thaw", {"adm"}},
        Case{"POST", "/v1/streams/payouts/pause", {"adm"}},
        Case{"POST", "/v1/streams/payouts/dead-letters/replay", {"adm"}},
        Case{"GET", "/metrics", {"in", "out", "adm", "chk"}}}) {
    for (const std::string token : {"in", "out", "adm", "chk"}) {
      const int got = status(c.method, c.target, token);
      if (c.accepted.contains(token)) {
        EXPECT_EQ(got / 100, 2) << c.target << " " << token;
      } else {
        EXPECT_EQ(got, 403) << c.target << " " << token;
      }
    }
    EXPECT_EQ(status(c.method, c.target, ""), 401) << c.target;
    EXPECT_EQ(status(c.method, c.target, "wrong"), 401) << c.target;
  }
}

TEST_F(Access, ChallengesWithoutTellingWhatExists) {
  const auto missing = api.call("GET", "/v1/streams/nope");
  expect_problem(missing, 401);
  EXPECT_EQ(*http::find(missing.headers, "WWW-Authenticate"), "Bearer realm=\"dripgate\"");
  const auto scope =
      api.call("GET", "/v1/streams/payouts/dead-letters", "", {{"Authorization", "Bearer in"}});
  expect_problem(scope, 403, "consume or admin");
  EXPECT_NE(http::find(scope.headers, "WWW-Authenticate")->find("insufficient_scope"), std::string::npos);
}

TEST_F(Access, HealthIsOpenAndReadinessKeepsItsReasonsFromStrangers) {
  EXPECT_EQ(status("GET", "/healthz", ""), 200);
  api.service.ready = {.ready = false, .reasons = {"store: locked"}, .warnings = {}};
  const auto stranger = api.call("GET", "/readyz");
  expect_problem(stranger, 503);
  EXPECT_FALSE(json_of(stranger).contains("reasons"));
  EXPECT_TRUE(json_of(api.call("GET", "/readyz", "", {{"Authorization", "Bearer chk"}})).contains("reasons"));
  api.service.ready = {.ready = true, .reasons = {}, .warnings = {"redis may evict keys"}};
  EXPECT_FALSE(json_of(api.call("GET", "/readyz")).contains("warnings"));
  EXPECT_EQ(json_of(api.call("GET", "/readyz", "", {{"Authorization", "Bearer chk"}})).at("warnings").size(),
            1u);
}

TEST_F(Access, ReadinessTellsWhichConfigRunsButNotStrangers) {
  api.service.ready.config = {.version = "0123456789ab", .applied = from_us(1'800'000'000'000'000)};
  const auto ask = [this] {
    return json_of(api.call("GET", "/readyz", "", {{"Authorization", "Bearer chk"}})).at("config");
  };
  EXPECT_EQ(ask(), Json::parse(R"({"version":"0123456789ab","appliedAt":"2027-01-15T08:00:00.000Z"})"));
  api.service.ready.config.reload = 7;
  api.service.ready.config.refused = "dripgate.yaml:3:7: unknown key";
  EXPECT_EQ(ask().at("reload"), 7);
  api.service.ready.ready = false;
  EXPECT_EQ(ask().at("refused"), "dripgate.yaml:3:7: unknown key") << "also while it is not ready";
  EXPECT_FALSE(json_of(api.call("GET", "/readyz")).contains("config"));
}

TEST_F(Access, FollowsAReload) {
  EXPECT_EQ(status("GET", "/v1/streams", "new"), 401);
  api.config = Api::load({{.secret = "new", .scopes = {config::Scope::admin}}});
  EXPECT_EQ(status("GET", "/v1/streams", "new"), 200);
  EXPECT_EQ(status("GET", "/v1/streams", "adm"), 401);
}

TEST_F(Access, IsCheckedBeforeTheBodyIsRead) {
  const auto& head_check = api.routes.head_check;
  auto head = Api::request("POST", "/v1/streams/payouts/events");
  EXPECT_EQ(head_check(head)->status, 401);
  head.headers.emplace_back("Authorization", "Bearer in");
  EXPECT_FALSE(head_check(head));
  EXPECT_EQ(head_check(Api::request("POST", "/nowhere"))->status, 404);
  EXPECT_EQ(head_check(Api::request("PUT", "/v1/streams/payouts/events"))->status, 405);
  auto big = Api::request("POST", "/v1/streams/payouts/pause", "",
                          {{"Authorization", "Bearer adm"}, {"Content-Length", "20000"}});
  EXPECT_EQ(head_check(big)->status, 413);
  auto big_ingest = Api::request("POST", "/v1/streams/payouts/events", "",
                                 {{"Authorization", "Bearer in"}, {"Content-Length", "5000000"}});
  EXPECT_FALSE(head_check(big_ingest));
}

TEST(LocalAccess, RefusesPagesOfOtherSites) {
  Api api;
  expect_problem(api.call("POST", "/v1/streams/payouts/events", "1", {{"Host", "evil.example"}}), 403);
  expect_problem(api.call("POST", "/v1/streams/payouts/events", "1", {{"Origin", "https://evil.example"}}),
                 403);
  auto remote = Api::request("GET", "/v1/streams");
  remote.peer = {.address = "10.0.0.9", .port = 1, .loopback = false};
  expect_problem(api.call(remote), 403);
  EXPECT_TRUE(api.service.calls.empty());
}

TEST(Spans, TakeUnitsAndRefuseTheRest) {
  EXPECT_EQ(parse_span("30s").value(), Duration{30s});
  EXPECT_EQ(parse_span("1.5h").value(), Duration{90min});
  EXPECT_EQ(parse_span("500ms").value(), Duration{500ms});
  EXPECT_EQ(parse_span("2d").value(), Duration{48h});
  EXPECT_EQ(parse_span("0s").value(), Duration{0s});
  for (const char* bad :
       {"", "s", "30", "-1s", "1e3s", "nan s", "inf", "1 s", "1w", "99999999999d", "+1s", "1.s."}) {
    EXPECT_FALSE(parse_span(bad)) << bad;
  }
}

}  // namespace
}  // namespace dripgate::server
