// The client and the sink against a real server and against peers that misbehave, on one loop.
#include "http/client.h"

#include <set>

#include <gtest/gtest.h>

#include "http/answer_reader.h"
#include "http/http_sink.h"
#include "http/problem.h"
#include "http/server.h"
#include "support/virtual_time.h"
#include "unit/http/certificates.h"
#include "unit/http/raw_socket.h"

namespace dripgate::http {
namespace {

using broker::SinkAnswer;
using broker::SinkVerdict;
using dripgate::testing::kT0;
using testing::run_until;

/// A TCP peer that answers the n-th connection's first bytes with the n-th script and then closes or stays
/// silent.
class ScriptedPeer {
 public:
  explicit ScriptedPeer(IoLoop& loop) : loop_(loop), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ::bind(fd_, reinterpret_cast<sockaddr*>(&address), length);
    ::listen(fd_, 16);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
  }
  ~ScriptedPeer() {
    ::close(fd_);
    if (connection_ >= 0) ::close(connection_);
  }
  ScriptedPeer(const ScriptedPeer&) = delete;
  ScriptedPeer& operator=(const ScriptedPeer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  bool accept_and_read() {
    return run_until(loop_, [&] {
      if (connection_ < 0) connection_ = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK);
      char block[4096];
      const ssize_t n = connection_ < 0 ? -1 : ::recv(connection_, block, sizeof block, 0);
      return n > 0;
    });
  }
  void say(std::string_view bytes) { (void)::send(connection_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void hang_up() { ::close(std::exchange(connection_, -1)); }

 private:
  IoLoop& loop_;
  int fd_;
  int connection_ = -1;
  std::uint16_t port_ = 0;
};

struct ClientTest : ::testing::Test {
  IoLoop loop;
  std::vector<Request> seen;
  std::vector<Reply> held;
  bool hold = false;
  Response answer{.status = 200, .headers = {}, .body = "fine"};
  std::unique_ptr<Server> server;
  std::unique_ptr<Client> client;

  void start(std::optional<ServerTls> tls = std::nullopt) {
    ServerOptions options;
    options.tls = std::move(tls);
    auto listening = Server::listen(std::move(options), {&loop}, [this](Request request, Reply reply) {
      seen.push_back(std::move(request));
      if (hold) return held.push_back(std::move(reply));
      reply(answer);
    });
    ASSERT_TRUE(listening) << listening.error().detail;
    server = std::move(*listening);
  }
  void connect(const std::string& url, ClientOptions options = {}) {
    auto made = Client::make(loop, parse_url(url).value(), std::move(options));
    ASSERT_TRUE(made) << made.error().detail;
    client = std::move(*made);
  }
  [[nodiscard]] std::string url(std::string_view scheme = "http", std::string_view host = "127.0.0.1") const {
    return std::string(scheme) + "://" + std::string(host) + ":" + std::to_string(server->port()) + "/";
  }
  Result<Response> call(Call what) {
    std::optional<Result<Response>> result;
    client->send(std::move(what), [&](Result<Response> r) { result = std::move(r); });
    EXPECT_TRUE(run_until(loop, [&] { return result.has_value(); }));
    return result ? std::move(*result) : fail(ErrorCode::timed_out, "the test gave up");
  }
  [[nodiscard]] std::set<std::uint16_t> ports() const {
    std::set<std::uint16_t> out;
    for (const auto& request : seen) out.insert(request.peer.port);
    return out;
  }
};

TEST_F(ClientTest, SendsAndReadsBackOverOneKeptConnection) {
  start();
  connect(url());
  for (int i = 0; i < 20; ++i) {
    const auto result = call({.target = "/t?x=1", .headers = {{"X-A", "b"}}, .body = "payload"});
    ASSERT_TRUE(result) << result.error().detail;
    EXPECT_EQ(result->status, 200);
    EXPECT_EQ(result->body, "fine");
  }
  EXPECT_EQ(ports().size(), 1u);
  EXPECT_EQ(seen[19].body, "payload");
  EXPECT_EQ(seen[19].target, "/t?x=1");
  EXPECT_EQ(*find(seen[19].headers, "host"), "127.0.0.1:" + std::to_string(server->port()));
}

TEST_F(ClientTest, HoldsItsConnectionsToTheBoundAndServesTheQueueInOrder) {
  start();
  hold = true;
  connect(url(), {.max_connections = 3, .waiting_max = 4});
  std::vector<int> order;
  int full = 0;
  for (int i = 0; i < 8; ++i) {
    client->send({.target = "/" + std::to_string(i)}, [&, i](Result<Response> r) {
      if (r) order.push_back(i);
      if (!r && r.error().code == ErrorCode::full) ++full;
    });
  }
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 3 && full == 1; }));
  EXPECT_EQ(server->connections(), 3u);
  hold = false;
  for (auto& reply : held) reply(answer);
  ASSERT_TRUE(run_until(loop, [&] { return order.size() == 7; }));
  EXPECT_EQ(ports().size(), 3u);
  EXPECT_EQ(seen[3].target, "/3");
}

TEST_F(ClientTest, TheTimeoutRunsFromAFreeConnectionNotFromTheQueue) {
  start();
  hold = true;
  connect(url(), {.max_connections = 1});
  bool first = false;
  std::optional<ErrorCode> second;
  client->send({.timeout = 10s}, [&](Result<Response> r) { first = r.has_value(); });
  client->send({.timeout = 100ms}, [&](Result<Response> r) { second = r ? ErrorCode{} : r.error().code; });
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 1; }));
  loop.run_for(300ms);
  EXPECT_FALSE(second);
  held[0](answer);
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 2 && first; }));
  ASSERT_TRUE(run_until(loop, [&] { return second.has_value(); }));
  EXPECT_EQ(*second, ErrorCode::timed_out);
}

TEST_F(ClientTest, ConnectsAnewWhenTheServerClosedAnIdleConnection) {
  ScriptedPeer peer(loop);
  connect("http://127.0.0.1:" + std::to_string(peer.port()));
  for (int i = 0; i < 3; ++i) {
    std::optional<Result<Response>> result;
    client->send({}, [&](Result<Response> r) { result = std::move(r); });
    ASSERT_TRUE(peer.accept_and_read());
    peer.say("HTTP/1.1 204 No Content\r\n\r\n");
    ASSERT_TRUE(run_until(loop, [&] { return result.has_value(); }));
    ASSERT_TRUE(*result) << i << result->error().detail;
    EXPECT_EQ((*result)->status, 204);
    peer.hang_up();
  }
}

TEST_F(ClientTest, ReportsWhatWentWrongOnceAndSendsNothingTwice) {
  struct Case {
    std::string_view says;
    bool hangs_up;
    ErrorCode expected;
  };
  for (const Case& c :
       {Case{"", true, ErrorCode::unavailable}, Case{"", false, ErrorCode::timed_out},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", true, ErrorCode::unavailable},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", false, ErrorCode::timed_out},
        Case{"garbage\r\n\r\n", false, ErrorCode::unavailable}}) {
    ScriptedPeer peer(loop);
    connect("http://127.0.0.1:" + std::to_string(peer.port()));
    int answers = 0;
    std::optional<ErrorCode> code;
    client->send({.timeout = 150ms}, [&](Result<Response> r) {
      ++answers;
      if (!r) code = r.error().code;
    });
    ASSERT_TRUE(peer.accept_and_read());
    peer.say(c.says);
    if (c.hangs_up) peer.hang_up();
    ASSERT_TRUE(run_until(loop, [&] { return answers > 0; })) << c.says;
    loop.run_for(20ms);
    EXPECT_EQ(code, c.expected) << c.says;
    EXPECT_EQ(answers, 1) << c.says;
  }
}

TEST_F(ClientTest, ReportsARefusedConnection) {
  std::uint16_t closed_port = 0;
  {
    closed_port = ScriptedPeer(loop).port();
  }
  connect("http://127.0.0.1:" + std::to_string(closed_port));
  const auto result = call({});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(result.error().transient);
  EXPECT_NE(result.error().detail.find("Connection refused"), std::string::npos) << result.error().detail;
}

TEST_F(ClientTest, ReadsAnswersOfEveryFraming) {
  struct Case {
    std::string_view wire;
    std::string_view body;
    bool ends_by_close;
  };
  for (const Case& c :
       {Case{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", false},
        Case{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 "
             "OK\r\nContent-Length: "
             "3\r\n\r\nabc",
             "abc", false},
        Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", "abc",
             false},
        Case{"HTTP/1.1 200 OK\r\n\r\nabc", "abc", true}, Case{"HTTP/1.0 200 OK\r\n\r\nabc", "abc", true}}) {
    for (std::size_t cut = 1; cut <= c.wire.size(); ++cut) {
      AnswerReader reader(false, 1000);
      Result<bool> complete = false;
      for (std::string_view rest = c.wire; !rest.empty() && complete && !*complete;) {
        const auto part = rest.substr(0, cut);
        std::ranges::copy(part, reader.space().begin());
        complete = reader.added(part.size());
        rest.remove_prefix(part.size());
      }
      ASSERT_TRUE(complete) << c.wire << complete.error().detail;
      EXPECT_EQ(*complete, !c.ends_by_close) << c.wire;
      if (c.ends_by_close) EXPECT_TRUE(reader.ended().value_or(false));
      EXPECT_EQ(reader.take().body, c.body);
    }
  }
}

TEST_F(ClientTest, CutsALongAnswerAtItsBoundAndKeepsTheStatus) {
  start();
  answer.body = std::string(100'000, 'x');
  connect(url());
  const auto cut = call({.answer_bytes_max = 1000});
  ASSERT_TRUE(cut) << cut.error().detail;
  EXPECT_EQ(cut->status, 200);
  EXPECT_LE(cut->body.size(), 1000u);
  const auto whole = call({});
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->body.size(), 100'000u);
  EXPECT_EQ(ports().size(), 2u) << "a connection with an unread rest is not reused";
}

TEST_F(ClientTest, SendsNothingThatIsNoLongerWanted) {
  start();
  connect(url());
  const auto result = call({.still_wanted = [] { return false; }});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::cancelled);
  loop.run_for(20ms);
  EXPECT_TRUE(seen.empty());
}

TEST_F(ClientTest, ClosingAnswersEverythingThatIsOpen) {
  start();
  hold = true;
  connect(url(), {.max_connections = 1});
  int cancelled = 0;
  for (int i = 0; i < 3; ++i) {
    client->send({}, [&](Result<Response> r) { cancelled += !r && r.error().code == ErrorCode::cancelled; });
  }
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 1; }));
  client.reset();
  EXPECT_TRUE(run_until(loop, [&] { return cancelled == 3; }));
}

TEST_F(ClientTest, SpeaksTlsAndVerifiesTheHost) {
  const testing::Certificates files;
  start(ServerTls{.cert_file = files.cert, .key_file = files.key});
  connect(url("https"), {.ca_file = files.ca});
  for (int i = 0; i < 3; ++i) {
    const auto result = call({.body = std::string(200'000, 'x')});
    ASSERT_TRUE(result) << result.error().detail;
    EXPECT_EQ(result->body, "fine");
  }
  EXPECT_EQ(ports().size(), 1u);
  EXPECT_EQ(seen[0].body.size(), 200'000u);
  EXPECT_FALSE(seen[0].peer.client_certificate);
  connect(url("https", "localhost"), {.ca_file = files.ca});
  EXPECT_TRUE(call({}));
  const std::size_t before = seen.size();
  connect(url("https", "127.0.0.2"), {.ca_file = files.ca});
  EXPECT_FALSE(call({})) << "the certificate does not name 127.0.0.2";
  connect(url("https"), {.ca_file = files.other_ca});
  EXPECT_FALSE(call({})) << "another CA signed it";
  connect(url("https"));
  EXPECT_FALSE(call({})) << "the system does not know this CA";
  EXPECT_EQ(seen.size(), before);
}

TEST_F(ClientTest, AServerWithAClientCaTakesOnlyClientsWithItsCertificate) {
  const testing::Certificates files;
  start(ServerTls{.cert_file = files.cert, .key_file = files.key, .client_ca_file = files.ca});
  connect(url("https"), {.ca_file = files.ca});
  EXPECT_FALSE(call({}));
  EXPECT_TRUE(seen.empty());
  connect(url("https"), {.ca_file = files.ca, .cert_file = files.client_cert, .key_file = files.client_key});
  const auto result = call({});
  ASSERT_TRUE(result) << result.error().detail;
  EXPECT_EQ(seen[0].peer.client_certificate, "/CN=ops");
}

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
  EXPECT_EQ(*find(delivery_headers({}), "content-type"), "application/json");
}

struct SinkTest : ClientTest {
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
