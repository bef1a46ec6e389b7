// The server over real sockets on 127.0.0.1: what it does for clients that behave, and how it stops.
#include <algorithm>

#include "http/request_reader.h"
#include "unit/http/server_fixture.h"

namespace dripgate::http {
namespace {

using testing::count;
using testing::RawSocket;
using testing::run_until;
using ServerTest = testing::ServerFixture;

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

TEST_F(ServerTest, PipelinedRequestsLeaveOtherConnectionsTheirTurn) {
  static constexpr std::size_t kPipelined = 100;  // all of them fit into what is read at once
  static constexpr std::ptrdiff_t kAheadMax = 20;
  start();
  RawSocket one = connect();
  RawSocket other = connect();
  ASSERT_TRUE(run_until(loop, [&] { return server->connections() == 2; }));
  std::string many;
  for (std::size_t i = 0; i < kPipelined; ++i) many += "GET /many HTTP/1.1\r\nHost: x\r\n\r\n";
  one.send_unserved(many);
  other.send_unserved("GET /other HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(run_until(loop, [&] { return seen.size() == kPipelined + 1; }));
  EXPECT_LE(std::ranges::find(seen, "/other", &Request::target) - seen.begin(), kAheadMax);
  EXPECT_EQ(count(one.receive_until("got "), "HTTP/1.1 200 "), kPipelined);
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
    net::IoLoop short_lived;
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

}  // namespace
}  // namespace dripgate::http
