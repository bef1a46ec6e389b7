// Taking events in, through the handler, over a fake service.
#include "base/limits.h"
#include "server/ingest_meter.h"
#include "server/ndjson.h"
#include "unit/server/fake_service.h"

namespace dripgate::server {
namespace {

using testing::Api;
using testing::expect_problem;
using testing::json_of;
using testing::kNow;
using Json = nlohmann::json;

constexpr const char* kNdjson = "application/x-ndjson";

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
  expect_problem(api.call("POST", "/v1/streams/payouts/events", "1", {{"Content-Encoding", "gzip"}}), 415);
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
