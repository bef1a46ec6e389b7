// The server over real sockets against clients that send too much, too slowly, or rubbish.
#include <random>

#include "http/request_reader.h"
#include "unit/http/server_fixture.h"

namespace dripgate::http {
namespace {

using testing::count;
using testing::RawSocket;
using testing::run_until;
using HostileTest = testing::ServerFixture;

TEST_F(HostileTest, RefusesABodyOverTheBoundWith413BeforeReadingIt) {
  start({.body_bytes = 1000});
  RawSocket client = connect();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n"));
  const std::string answer = client.receive_until("\"status\":413");
  EXPECT_EQ(count(answer, "HTTP/1.1 413 Content Too Large\r\n"), 1u);
  EXPECT_EQ(count(answer, "Content-Type: application/problem+json\r\n"), 1u);
  EXPECT_EQ(count(answer, "the body is over 1000 bytes"), 1u);
  EXPECT_EQ(count(answer, "Connection: close\r\n"), 1u);
  client.end_writing();
  EXPECT_TRUE(client.closed_by_server());
  EXPECT_TRUE(seen.empty());
}

TEST_F(HostileTest, RefusesAChunkedBodyOnceItIsOverTheBound) {
  start({.body_bytes = 1000});
  RawSocket client = connect();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string chunk = "1f4\r\n" + std::string(500, 'x') + "\r\n";
  ASSERT_TRUE(client.send(chunk + chunk + chunk));
  EXPECT_NE(client.receive_until("HTTP/1.1 413 "), "");
  EXPECT_TRUE(seen.empty());
}

TEST_F(HostileTest, DeliversItsRefusalToAClientThatIsStillSending) {
  start({.body_bytes = 1000});
  RawSocket client = connect();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n"));
  client.send(std::string(5'000'000, 'x'));
  EXPECT_NE(client.receive_until("\"status\":413"), "");
}

TEST_F(HostileTest, RefusesHeadersOverTheBoundWith431HoweverTheyArrive) {
  start({.header_bytes = 2000});
  RawSocket one_long = connect();
  ASSERT_TRUE(one_long.send("GET / HTTP/1.1\r\nHost: x\r\nLong: " + std::string(3000, 'a') + "\r\n\r\n"));
  EXPECT_NE(one_long.receive_until("HTTP/1.1 431 "), "");
  RawSocket long_target = connect();
  ASSERT_TRUE(long_target.send("GET /" + std::string(3000, 'a') + " HTTP/1.1\r\n\r\n"));
  EXPECT_NE(long_target.receive_until("HTTP/1.1 431 "), "");
  // Many short lines, each its own packet: only their sum is too large.
  RawSocket many = connect();
  ASSERT_TRUE(many.send("GET / HTTP/1.1\r\nHost: x\r\n"));
  for (int i = 0; i < 200; ++i) {
    if (!many.send("Header-" + std::to_string(i) + ": some value\r\n")) break;
  }
  EXPECT_NE(many.receive_until("HTTP/1.1 431 "), "");
  EXPECT_TRUE(seen.empty());
}

TEST_F(HostileTest, AnswersMalformedRequestsWith400AndCloses) {
  start();
  for (const std::string& bad : std::initializer_list<std::string>{
           "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "GET\r\n\r\n",
           "GET / HTTP/1.1\r\nno colon\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: "
           "chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\n\nx", "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
           "GET / HTTP/1.1\r\nAccept: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
           "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}) {
    RawSocket client = connect();
    ASSERT_TRUE(client.send(bad));
    EXPECT_NE(client.receive_until("HTTP/1.1 400 "), "") << bad;
    client.end_writing();
    EXPECT_TRUE(client.closed_by_server()) << bad;
  }
  RawSocket newer = connect();
  ASSERT_TRUE(newer.send("GET / HTTP/2.0\r\n\r\n"));
  EXPECT_NE(newer.receive_until("HTTP/1.1 505 "), "");
  EXPECT_TRUE(seen.empty());
}

TEST_F(HostileTest, SaysContinueOnlyToAClientThatWaitsForIt) {
  start();
  RawSocket client = connect();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"));
  ASSERT_NE(client.receive_until("HTTP/1.1 100 Continue\r\n\r\n"), "");
  ASSERT_TRUE(client.send("hello"));
  EXPECT_NE(client.receive_until("got hello"), "");
  RawSocket eager = connect();
  ASSERT_TRUE(
      eager.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello"));
  EXPECT_EQ(count(eager.receive_until("got hello"), "100 Continue"), 0u);
  RawSocket strange = connect();
  ASSERT_TRUE(strange.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: miracles\r\n\r\n"));
  EXPECT_NE(strange.receive_until("HTTP/1.1 417 "), "");
}

TEST_F(HostileTest, AsksTheHeadCheckBeforeAByteOfTheBody) {
  start({}, [](const Request& head) -> std::optional<Response> {
    if (find(head.headers, "Authorization") != nullptr) return std::nullopt;
    return Response{.status = 401, .headers = {}, .body = "who?"};
  });
  RawSocket stranger = connect();
  ASSERT_TRUE(
      stranger.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"));
  const std::string answer = stranger.receive_until("who?");
  EXPECT_EQ(count(answer, "HTTP/1.1 401 "), 1u);
  EXPECT_EQ(count(answer, "100 Continue"), 0u);
  RawSocket friendly = connect();
  ASSERT_TRUE(
      friendly.send("POST / HTTP/1.1\r\nHost: x\r\nAuthorization: yes\r\nContent-Length: 2\r\n\r\nok"));
  EXPECT_NE(friendly.receive_until("got ok"), "");
}

TEST_F(HostileTest, ClosesAConnectionWhoseHeaderDripsInTooSlowly) {
  start({.idle_timeout = 10s, .header_timeout = 100ms});
  RawSocket loris = connect();
  ASSERT_TRUE(loris.send("GET / HTTP/1.1\r\n"));
  // A byte every few milliseconds for far longer than the bound: activity does not extend it.
  bool open = true;
  for (int i = 0; i < 1000 && open; ++i) open = loris.send("a") && !loris.closed_by_server(2ms);
  EXPECT_FALSE(open);
}

TEST_F(HostileTest, ClosesAConnectionWhoseBodyDripsInTooSlowlyAndOneThatIsIdle) {
  start({.idle_timeout = 100ms, .header_timeout = 10s, .body_timeout = 100ms});
  RawSocket slow = connect();
  ASSERT_TRUE(slow.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc"));
  EXPECT_TRUE(slow.closed_by_server());
  RawSocket idle = connect();
  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_TRUE(seen.empty());
}

TEST_F(HostileTest, ClosesAConnectionThatDoesNotReadItsAnswer) {
  start({.write_timeout = 100ms});
  hold = true;
  RawSocket client = connect();
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 1; }));
  held[0]({.status = 200, .headers = {}, .body = std::string(50u << 20, 'x')});
  EXPECT_TRUE(run_until(loop, [&] { return server->connections() == 0; }));
}

TEST_F(HostileTest, TurnsAwayConnectionsOverTheCapWith503AndRecovers) {
  start({.connections = 2});
  {
    RawSocket first = connect();
    RawSocket second = connect();
    ASSERT_TRUE(first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    ASSERT_NE(first.receive_until("got "), "");
    ASSERT_TRUE(second.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    ASSERT_NE(second.receive_until("got "), "");
    RawSocket third = connect();
    third.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = third.receive_until("over 2 connections");
    EXPECT_EQ(count(answer, "HTTP/1.1 503 "), 1u);
    EXPECT_EQ(count(answer, "Retry-After: 1\r\n"), 1u);
    EXPECT_EQ(seen.size(), 2u);
  }
  ASSERT_TRUE(run_until(loop, [&] { return server->connections() == 0; }));
  RawSocket later = connect();
  ASSERT_TRUE(later.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_NE(later.receive_until("got "), "");
}

TEST_F(HostileTest, ShedsRequestsOverTheBoundInFlightAndBodiesOverTheTotal) {
  start({.body_bytes_total = 4000, .requests_in_flight = 1});
  hold = true;
  RawSocket first = connect();
  ASSERT_TRUE(
      first.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000\r\n\r\n" + std::string(3000, 'x')));
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 1; }));
  RawSocket second = connect();
  ASSERT_TRUE(second.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_NE(second.receive_until("over 1 requests in flight"), "");
  RawSocket third = connect();
  ASSERT_TRUE(
      third.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n" + std::string(2000, 'x')));
  EXPECT_NE(third.receive_until("HTTP/1.1 503 "), "");
  held[0]({.status = 200, .headers = {}, .body = "at last"});
  EXPECT_NE(first.receive_until("at last"), "");
  hold = false;
  ASSERT_TRUE(second.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_NE(second.receive_until("got "), "")
      << "what was taken is given back, and a shed connection stays open";
}

TEST_F(HostileTest, LetsNoHeaderValueForgeALine) {
  start();
  hold = true;
  RawSocket client = connect();
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 1; }));
  held[0]({.status = 200, .headers = {{"X", "a\r\nSet-Cookie: b"}}, .body = "end"});
  EXPECT_EQ(count(client.receive_until("end"), "\r\nSet-Cookie"), 0u);
}

TEST_F(HostileTest, RefusesToListenWhereItCannotAndSaysWhy) {
  start();
  const auto taken = Server::listen({.port = server->port()}, {&loop}, {});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::unavailable);
  const auto nowhere = Server::listen({.host = "not a host"}, {&loop}, {});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::invalid_argument);
  const auto no_files = Server::listen(
      {.tls = net::ServerTls{.cert_file = "/nowhere.pem", .key_file = "/nowhere.key", .client_ca_file = {}}},
      {&loop}, {});
  ASSERT_FALSE(no_files);
  EXPECT_NE(no_files.error().detail.find("/nowhere.pem"), std::string::npos);
}

// Random and mutated bytes: the reader ends in some step, uses bounded memory and never crashes.
TEST(RequestReader, SurvivesRandomAndMutatedBytes) {
  std::mt19937_64 random(20260803);
  const std::string seed =
      "POST /v1/streams/p/events HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
      "POST /x HTTP/1.1\r\nHost: y\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nabcd";
  int completed = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = seed;
    const int changes = static_cast<int>(random() % 6);
    for (int i = 0; i < changes; ++i) {
      const auto at = random() % bytes.size();
      if (random() % 3 == 0) bytes.erase(at, random() % 9);
      if (bytes.empty()) bytes = "\r";
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    RequestReader reader(512, 64);
    std::string_view rest = bytes;
    bool refused = false;
    while (!rest.empty() && !refused) {
      const auto part = rest.substr(0, 1 + random() % 40);
      std::ranges::copy(part, reader.space().begin());
      reader.added(part.size());
      rest.remove_prefix(part.size());
      for (;;) {
        const auto step = reader.advance();
        if (step == RequestReader::Step::need_bytes) break;
        if (step == RequestReader::Step::refused) {
          refused = true;
          break;
        }
        if (step == RequestReader::Step::complete) {
          EXPECT_LE(reader.take().body.size(), 64u);
          ++completed;
        }
      }
    }
  }
  EXPECT_GT(completed, 5000);
}

TEST_F(HostileTest, RandomBytesNeverBringItDown) {
  start({.header_bytes = 2000, .body_bytes = 2000, .header_timeout = 50ms, .body_timeout = 50ms});
  std::mt19937_64 random(7);
  for (int round = 0; round < 100; ++round) {
    RawSocket client = connect();
    std::string bytes =
        round % 2 == 0 ? "" : "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < 3000; ++i) bytes += static_cast<char>(random());
    client.send(bytes);
  }
  RawSocket client = connect();
  ASSERT_TRUE(client.send("GET /alive HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_NE(client.receive_until("X-Target: /alive"), "");
}

}  // namespace
}  // namespace dripgate::http
