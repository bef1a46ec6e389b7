// Every route through the handler, over a fake service: no socket.
#include <set>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "server/body.h"
#include "server/ingest_meter.h"
#include "server/ndjson.h"
#include "unit/server/fake_service.h"

namespace dripgate::server {
namespace {

using testing::Api;
using testing::json_of;
using testing::kNow;
using Json = nlohmann::json;

constexpr const char* kNdjson = "application/x-ndjson";

/// A problem document as RFC 9457 wants it, of that status.
void expect_problem(const http::Response& response, int status, const std::string& detail_part = "") {
  EXPECT_EQ(response.status, status) << response.body;
  EXPECT_EQ(*http::find(response.headers, "Content-Type"), "application/problem+json");
  const Json body = json_of(response);
  EXPECT_TRUE(body["type"].is_string() && body["title"].is_string() && body["detail"].is_string())
      << response.body;
  EXPECT_EQ(body["status"], status);
  EXPECT_NE(body["detail"].get<std::string>().find(detail_part), std::string::npos) << response.body;
}

std::vector<Json> lines_of(const http::Response& response) {
  std::vector<Json> out;
  for (const NdjsonLine& line : split_lines(response.body)) out.push_back(Json::parse(line.text));
  return out;
}

TEST(Ingest, AnswersOneEventWithOneObject) {
  Api api;
  const auto response =
      api.call("POST", "/v1/streams/payouts/events", R"({"amount": 2500.00})", {{"Dripgate-Id", "pay_1"}});
  EXPECT_EQ(response.status, 202);
  EXPECT_EQ(json_of(response),
            Json::parse(
                R"({"id":"pay_1","verdict":"now","slot":"2027-01-15T08:00:00Z","key":"merchant_1:payout"})"));
  ASSERT_EQ(api.service.ingested.size(), 1u);
  EXPECT_EQ(api.service.ingested[0].id, "pay_1");
  EXPECT_EQ(api.service.ingested[0].body, R"({"amount": 2500.00})");
  EXPECT_TRUE(api.service.ingested[0].attributes.empty());
}

TEST(Ingest, SaysWhatBecameOfEachEvent) {
  using Kind = drip::EventVerdict::Kind;
  Api api;
  api.service.on_ingest = [](const std::vector<IngestEvent>&) {
    const auto verdict = [](Kind kind, std::optional<WallTime> slot, std::string reason) {
      return drip::EventVerdict{.kind = kind,
                                .message_id = "m",
                                .event_id = "e",
                                .key = "k",
                                .slot = slot,
                                .reason = std::move(reason)};
    };
    std::vector<IngestAnswer> answers(7);
    answers[0] = {.id = "a", .verdict = verdict(Kind::scheduled, kNow + 1500ms, ""), .error = {}};
    answers[1] = {
        .id = "b", .verdict = verdict(Kind::dead_letter, std::nullopt, "beyond_horizon"), .error = {}};
    answers[2] = {.id = "c", .verdict = {}, .accepted_only = true, .error = {}};
    answers[3] = {.id = "d", .verdict = verdict(Kind::duplicate, std::nullopt, ""), .error = {}};
    answers[4] = {.id = "e", .verdict = verdict(Kind::conflict, std::nullopt, ""), .error = {}};
    answers[5] = {.id = "f", .verdict = {}, .error = Error{ErrorCode::full, true, "the disk is full"}};
    answers[6] = {.id = "g", .verdict = {}, .error = Error{ErrorCode::unavailable, true, "later"}};
    return answers;
  };
  const auto response =
      api.call("POST", "/v1/streams/payouts/events", "1\n2\n3\n4\n5\n6\n7\n", {{"Content-Type", kNdjson}});
  EXPECT_EQ(response.status, 202);
  EXPECT_EQ(*http::find(response.headers, "Content-Type"), kNdjson);
  const auto lines = lines_of(response);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0],
            Json::parse(R"({"id":"a","verdict":"scheduled","slot":"2027-01-15T08:00:01.500Z","key":"k"})"));
  EXPECT_EQ(
      lines[1],
      Json::parse(R"({"id":"b","verdict":"dead_letter","slot":null,"key":"k","reason":"beyond_horizon"})"));
  EXPECT_EQ(lines[2], Json::parse(R"({"id":"c","verdict":"accepted","slot":null,"key":null})"));
  EXPECT_EQ(lines[3],
            Json::parse(R"({"id":"d","verdict":"accepted","slot":null,"key":"k","duplicate":true})"));
  EXPECT_EQ(lines[4]["status"], 409);
  EXPECT_EQ(lines[4]["line"], 5);
  EXPECT_EQ(lines[4]["id"], "e");
  EXPECT_EQ(lines[5]["status"], 507);
  EXPECT_EQ(lines[6]["status"], 503);
}

TEST(Ingest, NamesLinesByTheHeaderOnlyWhereNoTemplateDoes) {
  Api api;
  const std::string body = "{\"a\":1}\r\n\n  \n{broken\n";
  (void)api.call("POST", "/v1/streams/payouts/events", body,
                 {{"content-type", "Application/X-NDJSON; charset=utf-8"}, {"Dripgate-Id", "b7"}});
  ASSERT_EQ(api.service.ingested.size(), 2u) << "empty lines are skipped, malformed ones are not";
  EXPECT_EQ(api.service.ingested[0].id, "b7-1");
  EXPECT_EQ(api.service.ingested[0].body, "{\"a\":1}");
  EXPECT_EQ(api.service.ingested[1].id, "b7-4") << "the number is that of the line in the body";
  (void)api.call("POST", "/v1/streams/mails/events", body,
                 {{"Content-Type", kNdjson}, {"Dripgate-Id", "b7"}});
  EXPECT_EQ(api.service.ingested[0].id, "") << "this stream has an eventId template";
  EXPECT_EQ(api.service.ingested[1].fallback_id, "b7-4");
  (void)api.call("POST", "/v1/streams/payouts/events", body, {{"Content-Type", kNdjson}});
  EXPECT_EQ(api.service.ingested[0].id, "");
  EXPECT_EQ(api.service.ingested[0].fallback_id, "");
}

TEST(Ingest, RefusesAnOversizeLineAndTakesTheOthersInOrder) {
  Api api;
  const std::string body = "{\"n\":1}\n" + std::string(kLineBytesMax + 1, 'x') + "\n{\"n\":3}\n";
  const auto response = api.call("POST", "/v1/streams/payouts/events", body, {{"Content-Type", kNdjson}});
  EXPECT_EQ(response.status, 202);
  const auto lines = lines_of(response);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["verdict"], "now");
  EXPECT_EQ(lines[1], Json({{"line", 2}, {"status", 413}, {"error", "one event is over 1048576 bytes"}}));
  EXPECT_EQ(lines[2]["verdict"], "now");
  EXPECT_EQ(api.service.ingested.size(), 2u);
  expect_problem(api.call("POST", "/v1/streams/payouts/events", std::string(kLineBytesMax + 1, 'x')), 413,
                 "1048576");
  EXPECT_EQ(api.call("POST", "/v1/streams/payouts/events", std::string(kLineBytesMax, 'x')).status, 202);
}

TEST(Ingest, RefusesWhatHoldsNoEventOrTooMany) {
  Api api;
  expect_problem(api.call("POST", "/v1/streams/payouts/events", ""), 400, "empty");
  expect_problem(api.call("POST", "/v1/streams/payouts/events", "\n \n", {{"Content-Type", kNdjson}}), 400,
                 "no line");
  std::string many;
  for (std::size_t i = 0; i <= kIngestEventsMax; ++i) many += "1\n";
  expect_problem(api.call("POST", "/v1/streams/payouts/events", many, {{"Content-Type", kNdjson}}), 413,
                 "50000");
  expect_problem(api.call("POST", "/v1/streams/payouts/events?x=1", "1"), 400, "unknown query parameter 'x'");
  expect_problem(api.call("POST", "/v1/streams/nope/events", "1"), 404, "nope");
  EXPECT_TRUE(api.service.calls.empty());
}

TEST(Ingest, AnswersASingleConflictOrRefusalWithItsOwnStatus) {
  Api api;
  IngestAnswer answer{.id = "x", .verdict = {}, .error = {}};
  api.service.on_ingest = [&](const auto&) { return std::vector{answer}; };
  answer.verdict.kind = drip::EventVerdict::Kind::conflict;
  expect_problem(api.call("POST", "/v1/streams/payouts/events", "1"), 409, "'x'");
  answer.error = Error{ErrorCode::full, true, "the disk is full"};
  expect_problem(api.call("POST", "/v1/streams/payouts/events", "1"), 507, "disk");
  api.service.error = Error{ErrorCode::unavailable, true, "the store is down"};
  const auto down = api.call("POST", "/v1/streams/payouts/events", "1");
  expect_problem(down, 503, "store");
  EXPECT_EQ(*http::find(down.headers, "Retry-After"), "1");
  api.service.error = Error{ErrorCode::full, true, "the disk is full"};
  expect_problem(api.call("POST", "/v1/streams/payouts/events", "1\n", {{"Content-Type", kNdjson}}), 507);
}

TEST(Ingest, HoldsTheRateOverAllStreamsAndSaysWhenToComeBack) {
  Api api;
  api.config = Api::load({}, 4);
  EXPECT_EQ(api.call("POST", "/v1/streams/payouts/events", "1\n2\n3\n", {{"Content-Type", kNdjson}}).status,
            202);
  EXPECT_EQ(api.call("POST", "/v1/streams/mails/events", "1").status, 202);
  const auto refused = api.call("POST", "/v1/streams/payouts/events", "1");
  expect_problem(refused, 429, "4 events per second");
  EXPECT_EQ(*http::find(refused.headers, "Retry-After"), "1");
  EXPECT_EQ(api.service.calls.size(), 2u) << "nothing of it was stored";
  api.service.time += 250ms;
  EXPECT_EQ(api.call("POST", "/v1/streams/payouts/events", "1").status, 202);
  expect_problem(
      api.call("POST", "/v1/streams/payouts/events", "1\n2\n3\n4\n5\n", {{"Content-Type", kNdjson}}), 413,
      "ingestRate");
}

TEST(Ingest, CarriesTraceAndAttributesAndLetsNoneForgeTheDripsOwn) {
  Api api;
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  (void)api.call("POST", "/v1/streams/payouts/events", "<a/>",
                 {{"traceparent", trace},
                  {"tracestate", "v=1"},
                  {"Dripgate-Attr-Tenant", "t1"},
                  {"Content-Type", "application/xml"}});
  const auto& attributes = api.service.ingested.at(0).attributes;
  EXPECT_EQ(*broker::find(attributes, "traceparent"), trace);
  EXPECT_EQ(*broker::find(attributes, "tracestate"), "v=1");
  EXPECT_EQ(*broker::find(attributes, "tenant"), "t1");
  EXPECT_EQ(*broker::find(attributes, "content-type"), "application/xml");
  EXPECT_EQ(attributes.size(), 4u);
  (void)api.call("POST", "/v1/streams/payouts/events", "1",
                 {{"traceparent", "rubbish"}, {"tracestate", "v=1"}});
  EXPECT_TRUE(api.service.ingested.at(0).attributes.empty());
  expect_problem(
      api.call("POST", "/v1/streams/payouts/events", "1", {{"Dripgate-Attr-Dripgate-Key", "other"}}), 400);
  expect_problem(api.call("POST", "/v1/streams/payouts/events", "1", {{"Dripgate-Attr-", "x"}}), 400);
  for (const std::string& id :
       {std::string(), std::string(257, 'a'), std::string("a b"), std::string("\xc3\xa9")}) {
    expect_problem(api.call("POST", "/v1/streams/payouts/events", "1", {{"Dripgate-Id", id}}), 400,
                   "Dripgate-Id");
  }
}

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
  const Json text = json_of(api.call("GET", "/v1/streams/payouts/dead-letters/1"));
  EXPECT_EQ(text["body"], "{\"n\": 1.00");
  EXPECT_EQ(text["bodyBase64"], "eyJuIjogMS4wMA==");
  EXPECT_EQ(text["attributes"], Json::parse(R"({"tenant":"t1"})"));
  const Json bytes = json_of(api.call("GET", "/v1/streams/payouts/dead-letters/2"));
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
            Json::parse(R"({"replaying":1})"));
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
            (std::vector<std::string>{"replay payouts 1 100", "replay payouts all 7",
                                      "replay payouts all 100", "purge payouts 2", "purge payouts 2",
                                      "replay payouts 2 100", "purge payouts before 1799913600"}));
  for (const char* bad : {R"({"perSecond":0})", R"({"perSecond":1.5})", R"({"perSecond":"9"})",
                          R"({"rate":1})", R"({"perSecond":1e99})"}) {
    expect_problem(api.call("POST", "/v1/streams/payouts/dead-letters/replay", bad), 400);
  }
  for (const char* bad :
       {"", "{}", R"({"olderThan":24})", R"({"olderThan":"yesterday"})", R"({"older":"1h"})"}) {
    expect_problem(api.call("POST", "/v1/streams/payouts/dead-letters/purge", bad), 400);
  }
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
  EXPECT_EQ(json_of(api.call("GET", "/readyz")), Json::parse(R"({"ready":true})"));
  api.service.ready = {.ready = false, .reasons = {"store: locked"}};
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
  api.service.ready = {.ready = false, .reasons = {"store: locked"}};
  const auto stranger = api.call("GET", "/readyz");
  expect_problem(stranger, 503);
  EXPECT_FALSE(json_of(stranger).contains("reasons"));
  EXPECT_TRUE(json_of(api.call("GET", "/readyz", "", {{"Authorization", "Bearer chk"}})).contains("reasons"));
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

TEST(IngestRate, AdmitsABurstOfOneSecondAndRefillsEvenly) {
  IngestMeter meter;
  EXPECT_FALSE(meter.admit(10, 10, kNow).value());
  EXPECT_EQ(meter.admit(10, 1, kNow).value(), Duration{100ms});
  EXPECT_FALSE(meter.admit(10, 1, kNow + 100ms).value());
  EXPECT_EQ(meter.admit(10, 1, kNow).value(), Duration{100ms})
      << "a thread's older reading of the clock gives nothing";
  EXPECT_FALSE(meter.admit(10, 11, kNow + 10s)) << "more than a second's worth never passes";
  EXPECT_FALSE(meter.admit(20, 11, kNow + 10s).value()) << "a reload takes effect at once";
}

}  // namespace
}  // namespace dripgate::server
