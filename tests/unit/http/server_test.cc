// The server over real sockets on 127.0.0.1: one loop, one thread, driven by the test.
#include "http/server.h"

#include <random>

#include <gtest/gtest.h>

#include "http/request_reader.h"
#include "unit/http/raw_socket.h"

namespace dripgate::http {
namespace {

using testing::RawSocket;
using testing::run_until;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

struct ServerTest : ::testing::Test {
  IoLoop loop;
  std::vector<Request> seen;
  std::vector<Reply> held;
  bool hold = false;
  std::unique_ptr<Server> server;

  void start(ServerLimits limits = {}, HeadCheck head_check = {}) {
    ServerOptions options;
    options.limits = limits;
    options.head_check = std::move(head_check);
    auto listening = Server::listen(std::move(options), {&loop}, [this](Request request, Reply reply) {
      seen.push_back(request);
      if (hold) return held.push_back(std::move(reply));
      if (request.target == "/throws") throw std::runtime_error("a handler's mistake");
      if (request.target == "/drops") return;
      reply({.status = 200, .headers = {{"X-Target", request.target}}, .body = "got " + request.body});
    });
    ASSERT_TRUE(listening) << listening.error().detail;
    server = std::move(*listening);
  }
  RawSocket connect() { return RawSocket(loop, server->port()); }
};

TEST_F(ServerTest, AnswersOneRequestAfterAnotherOnOneConnection) {
  start();
  RawSocket client = connect();
  ASSERT_TRUE(client.send("GET /one HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_NE(client.receive_until("got "), "");
  ASSERT_TRUE(client.send("POST /two HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"));
  const std::string all = client.receive_until("got hello");
  EXPECT_EQ(count(all, "HTTP/1.1 200 OK\r\n"), 2u);
  EXPECT_EQ(count(all, "Connection: keep-alive\r\n"), 2u);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].method, "POST");
  EXPECT_EQ(seen[1].peer.address, "127.0.0.1");
  EXPECT_TRUE(seen[1].peer.loopback);
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  start();
  RawSocket client = connect();
  std::string all;
  for (int i = 0; i < 50; ++i) {
    all += "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nb";
  }
  ASSERT_TRUE(client.send(all));
  const std::string answer = client.receive_until("X-Target: /49\r\n");
  EXPECT_EQ(count(answer, "200 OK"), 50u);
  for (int i = 1; i < 50; ++i) {
    EXPECT_LT(answer.find("X-Target: /" + std::to_string(i - 1) + "\r\n"),
              answer.find("X-Target: /" + std::to_string(i) + "\r\n"));
  }
}

TEST_F(ServerTest, JoinsChunkedBodiesHoweverTheyAreCut) {
  start();
  const std::string wire =
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7;note=1\r\n, "
      "world\r\n0\r\nTrail: "
      "er\r\n\r\n";
  for (std::size_t cut = 1; cut < wire.size(); ++cut) {
    RequestReader reader(4096, 4096);
    bool complete = false;
    std::string_view rest = wire;
    while (!complete && !rest.empty()) {
      const auto part = rest.substr(0, cut);
      std::ranges::copy(part, reader.space().begin());
      reader.added(part.size());
      rest.remove_prefix(part.size());
      for (auto step = reader.advance(); step != RequestReader::Step::need_bytes; step = reader.advance()) {
        ASSERT_NE(step, RequestReader::Step::refused) << cut;
        if (step == RequestReader::Step::complete) {
          complete = true;
          break;
        }
      }
    }
    ASSERT_TRUE(complete) << cut;
    const Request request = reader.take();
    EXPECT_EQ(request.body, "hello, world") << cut;
    EXPECT_EQ(find(request.headers, "Trail"), nullptr) << "a trailer must not pass for a header";
  }
  RawSocket client = connect();
  ASSERT_TRUE(client.send(wire));
  EXPECT_NE(client.receive_until("got hello, world"), "");
}

TEST_F(ServerTest, RefusesABodyOverTheBoundWith413BeforeReadingIt) {
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

TEST_F(ServerTest, RefusesAChunkedBodyOnceItIsOverTheBound) {
  start({.body_bytes = 1000});
  RawSocket client = connect();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string chunk = "1f4\r\n" + std::string(500, 'x') + "\r\n";
  ASSERT_TRUE(client.send(chunk + chunk + chunk));
  EXPECT_NE(client.receive_until("HTTP/1.1 413 "), "");
  EXPECT_TRUE(seen.empty());
}

TEST_F(ServerTest, DeliversItsRefusalToAClientThatIsStillSending) {
  start({.body_bytes = 1000});
  RawSocket client = connect();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n"));
  client.send(std::string(5'000'000, 'x'));
  EXPECT_NE(client.receive_until("\"status\":413"), "");
}

TEST_F(ServerTest, RefusesHeadersOverTheBoundWith431HoweverTheyArrive) {
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

TEST_F(ServerTest, AnswersMalformedRequestsWith400AndCloses) {
  start();
  for (const std::string& bad : std::initializer_list<std::string>{
           "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "GET\r\n\r\n",
           "GET / HTTP/1.1\r\nno colon\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
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

TEST_F(ServerTest, SaysContinueOnlyToAClientThatWaitsForIt) {
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

TEST_F(ServerTest, AsksTheHeadCheckBeforeAByteOfTheBody) {
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

TEST_F(ServerTest, ClosesAConnectionWhoseHeaderDripsInTooSlowly) {
  start({.idle_timeout = 10s, .header_timeout = 100ms});
  RawSocket loris = connect();
  ASSERT_TRUE(loris.send("GET / HTTP/1.1\r\n"));
  // A byte every few milliseconds for far longer than the bound: activity does not extend it.
  bool open = true;
  for (int i = 0; i < 1000 && open; ++i) open = loris.send("a") && !loris.closed_by_server(2ms);
  EXPECT_FALSE(open);
}

TEST_F(ServerTest, ClosesAConnectionWhoseBodyDripsInTooSlowlyAndOneThatIsIdle) {
  start({.idle_timeout = 100ms, .header_timeout = 10s, .body_timeout = 100ms});
  RawSocket slow = connect();
  ASSERT_TRUE(slow.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc"));
  EXPECT_TRUE(slow.closed_by_server());
  RawSocket idle = connect();
  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_TRUE(seen.empty());
}

TEST_F(ServerTest, ClosesAConnectionThatDoesNotReadItsAnswer) {
  start({.write_timeout = 100ms});
  hold = true;
  RawSocket client = connect();
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 1; }));
  held[0]({.status = 200, .headers = {}, .body = std::string(50u << 20, 'x')});
  EXPECT_TRUE(run_until(loop, [&] { return server->connections() == 0; }));
}

TEST_F(ServerTest, TurnsAwayConnectionsOverTheCapWith503AndRecovers) {
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

TEST_F(ServerTest, ShedsRequestsOverTheBoundInFlightAndBodiesOverTheTotal) {
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

TEST_F(ServerTest, AnswersHeadWithoutABodyAndHonoursConnectionClose) {
  start();
  RawSocket client = connect();
  ASSERT_TRUE(client.send("HEAD /h HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  const std::string answer = client.receive_until("\r\n\r\n");
  EXPECT_EQ(count(answer, "Content-Length: 4\r\n"), 1u);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
  client.end_writing();
  EXPECT_TRUE(client.closed_by_server());
}

TEST_F(ServerTest, AnswersFiveHundredWhenAHandlerThrowsOrDropsTheReply) {
  start();
  RawSocket client = connect();
  ASSERT_TRUE(client.send("GET /throws HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_NE(client.receive_until("HTTP/1.1 500 "), "");
  ASSERT_TRUE(client.send("GET /drops HTTP/1.1\r\nHost: x\r\n\r\nGET /fine HTTP/1.1\r\nHost: x\r\n\r\n"));
  const std::string all = client.receive_until("got ");
  EXPECT_EQ(count(all, "HTTP/1.1 500 "), 2u);
  EXPECT_EQ(count(all, "HTTP/1.1 200 "), 1u);
}

TEST_F(ServerTest, LetsNoHeaderValueForgeALine) {
  start();
  hold = true;
  RawSocket client = connect();
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 1; }));
  held[0]({.status = 200, .headers = {{"X", "a\r\nSet-Cookie: b"}}, .body = "end"});
  EXPECT_EQ(count(client.receive_until("end"), "\r\nSet-Cookie"), 0u);
}

TEST_F(ServerTest, StopClosesIdleConnectionsAndLetsRequestsInHandFinish) {
  start();
  hold = true;
  RawSocket busy = connect();
  RawSocket idle = connect();
  ASSERT_TRUE(busy.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 1 && server->connections() == 2; }));
  bool stopped = false;
  server->stop(10s, [&] { stopped = true; });
  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_FALSE(stopped);
  held[0]({.status = 200, .headers = {}, .body = "last words"});
  const std::string answer = busy.receive_until("last words");
  EXPECT_EQ(count(answer, "Connection: close\r\n"), 1u);
  busy.end_writing();
  EXPECT_TRUE(run_until(loop, [&] { return stopped; }));
  EXPECT_EQ(server->connections(), 0u);
  RawSocket late = connect();
  EXPECT_FALSE(late.connected());
}

TEST_F(ServerTest, StopDoesNotWaitForAHandlerBeyondItsGrace) {
  start();
  hold = true;
  RawSocket busy = connect();
  ASSERT_TRUE(busy.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(run_until(loop, [&] { return held.size() == 1; }));
  bool stopped = false;
  server->stop(50ms, [&] { stopped = true; });
  EXPECT_TRUE(run_until(loop, [&] { return stopped; }, 5s));
  EXPECT_TRUE(busy.closed_by_server());
  held[0]({.status = 200, .headers = {}, .body = "too late"});
  EXPECT_TRUE(run_until(loop, [&] { return server->connections() == 0; }));
}

TEST_F(ServerTest, ALateReplyAfterTheLoopIsGoneIsHarmless) {
  Reply late;
  {
    IoLoop short_lived;
    auto listening =
        Server::listen({}, {&short_lived}, [&](Request, Reply reply) { late = std::move(reply); });
    ASSERT_TRUE(listening);
    RawSocket client(short_lived, (*listening)->port());
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    ASSERT_TRUE(run_until(short_lived, [&] { return late != nullptr; }));
    listening->reset();
  }
  late({.status = 200, .headers = {}, .body = {}});
  SUCCEED();
}

TEST_F(ServerTest, RefusesToListenWhereItCannotAndSaysWhy) {
  start();
  const auto taken = Server::listen({.port = server->port()}, {&loop}, {});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::unavailable);
  const auto nowhere = Server::listen({.host = "not a host"}, {&loop}, {});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::invalid_argument);
  const auto no_files = Server::listen(
      {.tls = ServerTls{.cert_file = "/nowhere.pem", .key_file = "/nowhere.key", .client_ca_file = {}}},
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

TEST_F(ServerTest, RandomBytesNeverBringItDown) {
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
