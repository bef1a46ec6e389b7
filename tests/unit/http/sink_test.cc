// The HTTP sink against a real server; verdicts, headers, URLs and problem documents.
#include "http/http_sink.h"
#include "http/problem.h"
#include "support/virtual_time.h"
#include "unit/http/client_fixture.h"

namespace dripgate::http {
namespace {

using broker::SinkAnswer;
using broker::SinkVerdict;
using dripgate::testing::kT0;
using testing::run_until;

TEST(RetryAfter, TakesSecondsAndEveryHttpDate) {
  const auto wait = [](std::string_view text) { return parse_retry_after(text, kT0); };
  EXPECT_EQ(wait("7"), Duration{7s});
  EXPECT_EQ(wait("0"), Duration{0s});
  EXPECT_EQ(wait("Fri, 15 Jan 2027 08:00:30 GMT"), Duration{30s});
  EXPECT_EQ(wait("Friday, 15-Jan-27 08:00:30 GMT"), Duration{30s});
  EXPECT_EQ(wait("Fri Jan 15 08:00:30 2027"), Duration{30s});
  EXPECT_EQ(wait("Fri, 15 Jan 2027 07:00:00 GMT"), Duration{0s});
  EXPECT_EQ(wait("99999999999999999999"), Duration{24h});
  EXPECT_EQ(wait("Fri, 15 Jan 2055 07:00:00 GMT"), Duration{24h});
  for (const char* rubbish : {"", "-1", "soon", "7s", "1.5", " ", "NaN"})
    EXPECT_FALSE(wait(rubbish)) << rubbish;
}

TEST(SinkVerdicts, FollowTheSemanticsForEveryStatus) {
  for (int status = 200; status < 600; ++status) {
    const SinkVerdict expected = status < 300                                      ? SinkVerdict::confirmed
                                 : status == 429                                   ? SinkVerdict::rate_limited
                                 : status == 408 || status == 425 || status >= 500 ? SinkVerdict::failed
                                                                                   : SinkVerdict::refused;
    const SinkAnswer answer =
        verdict_of({.status = status, .headers = {{"retry-after", "3"}}, .body = {}}, kT0);
    EXPECT_EQ(answer.verdict, expected) << status;
    const bool hint = expected == SinkVerdict::rate_limited || expected == SinkVerdict::failed;
    EXPECT_EQ(answer.retry_after, hint ? std::optional<Duration>{3s} : std::nullopt) << status;
    EXPECT_TRUE(answer.detail.starts_with("HTTP " + std::to_string(status)));
  }
}

TEST(DeliveryHeaders, CarryAttributesAndForgeNothing) {
  const Headers headers = delivery_headers({{"dripgate-id", "pay_1"},
                                            {"dripgate-key", "a\r\nX-Admin: yes"},
                                            {"traceparent", "00-abc"},
                                            {"content-type", "text/plain"},
                                            {"tenant", "t1"},
                                            {"bad name", "x"},
                                            {"host", "evil"}});
  EXPECT_EQ(*find(headers, "dripgate-id"), "pay_1");
  EXPECT_EQ(*find(headers, "dripgate-key"), "a%0D%0AX-Admin: yes");
  EXPECT_EQ(*find(headers, "traceparent"), "00-abc");
  EXPECT_EQ(*find(headers, "content-type"), "text/plain");
  EXPECT_EQ(*find(headers, "dripgate-attr-tenant"), "t1");
  EXPECT_EQ(*find(headers, "dripgate-attr-host"), "evil");
  EXPECT_EQ(find(headers, "host"), nullptr);
  EXPECT_EQ(headers.size(), 6u);
  const auto id_header = [](std::string id) {
    return *find(delivery_headers({{"dripgate-id", std::move(id)}}), "dripgate-id");
  };
  EXPECT_EQ(id_header(std::string("a\0b", 3)), "a%00b");
  EXPECT_EQ(id_header("a%00b"), "a%2500b") << "two ids never look alike";
  EXPECT_EQ(id_header(" sp "), "%20sp%20");
  EXPECT_EQ(*find(delivery_headers({}), "content-type"), "application/json");
}

struct SinkTest : testing::ClientFixture {
  dripgate::testing::VirtualClock clock;
  std::unique_ptr<HttpSink> sink;

  void make_sink(Duration timeout = 5s) {
    auto made = HttpSink::make({.url = url() + "payouts?v=2", .timeout = timeout}, loop, loop, clock);
    ASSERT_TRUE(made) << made.error().detail;
    sink = std::move(*made);
  }
  SinkAnswer deliver(broker::Outgoing outgoing) {
    std::optional<SinkAnswer> verdict;
    sink->deliver(std::move(outgoing), [&](SinkAnswer a) { verdict = std::move(a); });
    EXPECT_FALSE(verdict) << "never inside deliver()";
    EXPECT_TRUE(run_until(loop, [&] { return verdict.has_value(); }));
    return verdict.value_or(SinkAnswer{});
  }
  static broker::Outgoing event(std::string body, WallTime valid_until = kNeverEnds) {
    return {.message = {.id = "m",
                        .body = std::move(body),
                        .attributes = {{"dripgate-id", "pay_1"}},
                        .published = kT0},
            .valid_until = valid_until};
  }
};

TEST_F(SinkTest, PostsTheExactBytesWithTheHeadersOfTheDrip) {
  start();
  make_sink();
  const std::string bytes = "{\"amount\": 2500.00,\n \"n\":\"\xc3\xa9\"}\n";
  EXPECT_EQ(deliver(event(bytes)).verdict, SinkVerdict::confirmed);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].method, "POST");
  EXPECT_EQ(seen[0].target, "/payouts?v=2");
  EXPECT_EQ(seen[0].body, bytes);
  EXPECT_EQ(*find(seen[0].headers, "dripgate-id"), "pay_1");
  EXPECT_EQ(*find(seen[0].headers, "content-type"), "application/json");
}

TEST_F(SinkTest, DoesNotStartAfterItsWindowHasEndedNotEvenFromTheQueue) {
  start();
  auto made = HttpSink::make({.url = url(), .max_connections = 1}, loop, loop, clock);
  ASSERT_TRUE(made);
  sink = std::move(*made);
  hold = true;
  std::vector<SinkVerdict> verdicts;
  const auto note = [&](SinkAnswer a) { verdicts.push_back(a.verdict); };
  sink->deliver(event("1", kT0 + 1s), note);
  sink->deliver(event("2", kT0 + 1s), note);
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 1; }));
  clock.advance(1s);
  held[0](answer);
  ASSERT_TRUE(run_until(loop, [&] { return verdicts.size() == 2; }));
  EXPECT_EQ(verdicts, (std::vector{SinkVerdict::confirmed, SinkVerdict::expired}));
  EXPECT_EQ(seen.size(), 1u);
}

TEST_F(SinkTest, MapsWhatTheSinkSaysAndWhatTheNetworkDoes) {
  start();
  make_sink(100ms);
  answer = {.status = 429, .headers = {{"Retry-After", "7"}}, .body = "slow down"};
  const SinkAnswer limited = deliver(event("x"));
  EXPECT_EQ(limited.verdict, SinkVerdict::rate_limited);
  EXPECT_EQ(limited.retry_after, Duration{7s});
  answer = {.status = 307, .headers = {{"Location", url()}}, .body = {}};
  EXPECT_EQ(deliver(event("x")).verdict, SinkVerdict::refused);
  EXPECT_EQ(seen.size(), 2u) << "the redirect was not followed";
  hold = true;
  EXPECT_EQ(deliver(event("x")).verdict, SinkVerdict::failed) << "no answer in time";
  server.reset();
  const SinkAnswer gone = deliver(event("x"));
  EXPECT_EQ(gone.verdict, SinkVerdict::failed);
  EXPECT_NE(gone.detail.find("Connection refused"), std::string::npos) << gone.detail;
}

TEST_F(SinkTest, EndsLikeACrashWithoutAnyFurtherCall) {
  start();
  make_sink();
  hold = true;
  bool called = false;
  sink->deliver(event("x"), [&](SinkAnswer) { called = true; });
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 1; }));
  sink.reset();
  held[0](answer);
  loop.run_for(50ms);
  EXPECT_FALSE(called);
}

TEST(Urls, AreParsedStrictly) {
  const auto plain = parse_url("http://127.0.0.1:9000/payouts?a=b");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "127.0.0.1");
  EXPECT_EQ(plain->port, 9000);
  EXPECT_EQ(plain->target, "/payouts?a=b");
  EXPECT_EQ(parse_url("https://example.com")->authority(), "example.com");
  EXPECT_EQ(parse_url("https://example.com")->port, 443);
  EXPECT_EQ(parse_url("http://[::1]:8080/")->authority(), "[::1]:8080");
  EXPECT_EQ(parse_url("http://h?x=1")->target, "/?x=1");
  for (const char* bad :
       {"", "ftp://x/", "http://", "http:///x", "http://a b/", "http://u:p@h/", "http://h:0/",
        "http://h:99999/", "http://h:/", "http://h/#f", "http://[::1/", "http://a\r\nb/", "//h/"}) {
    EXPECT_FALSE(parse_url(bad)) << bad;
  }
}

TEST(Targets, AreSplitAndDecoded) {
  const auto target = parse_target("/v1/streams/pay%2Fouts/keys/a%20b?after=3&limit=%31&x");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->segments, (std::vector<std::string>{"v1", "streams", "pay/outs", "keys", "a b"}));
  ASSERT_EQ(target->query.size(), 3u);
  EXPECT_EQ(target->query[1].second, "1");
  EXPECT_EQ(parse_target("/")->segments, std::vector<std::string>{""});
  for (const char* bad : {"", "x", "*", "http://h/", "/%", "/%2", "/%zz", "/?a=%"})
    EXPECT_FALSE(parse_target(bad)) << bad;
  std::string every;
  for (int c = 0; c < 256; ++c) every += static_cast<char>(c);
  EXPECT_EQ(percent_decode(percent_encode(every)), every);
}

TEST(Problems, CarryTheMembersOfRfc9457) {
  const Response response = problem(429, "rate-limited", "say \"less\" \xff", 1500ms);
  EXPECT_EQ(*find(response.headers, "content-type"), "application/problem+json");
  EXPECT_EQ(*find(response.headers, "retry-after"), "2");
  EXPECT_EQ(response.body,
            "{\"type\":\"/errors/rate-limited\",\"title\":\"Too Many Requests\",\"status\":429,"
            "\"detail\":\"say \\\"less\\\" \xef\xbf\xbd\",\"retryAfterSeconds\":2}\n");
}

}  // namespace
}  // namespace dripgate::http
