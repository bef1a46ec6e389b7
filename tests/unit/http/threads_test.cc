// Server, client and sink on loops of their own threads, as app runs them: for the sanitizers.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "http/client.h"
#include "http/http_sink.h"
#include "http/server.h"
#include "support/virtual_time.h"
#include "unit/http/raw_socket.h"

namespace dripgate::http {
namespace {

using testing::run_until;

struct LoopThread {
  net::IoLoop loop;
  std::thread thread{[this] { loop.run(); }};
  ~LoopThread() {
    loop.stop();
    thread.join();
  }
};

/// Stops the server from the test's thread while its loops run.
void stop_and_wait(Server& server) {
  std::atomic<bool> stopped{false};
  server.stop(5s, [&] { stopped = true; });
  while (!stopped) std::this_thread::yield();
}

TEST(Threads, ConnectionsAreSpreadOverLoopsAndRepliesComeFromAnyThread) {
  net::IoLoop home;
  LoopThread first, second, client_loop, worker;
  std::atomic<int> served{0};
  auto listening = Server::listen({}, {&first.loop, &second.loop}, [&](Request request, Reply reply) {
    ++served;
    worker.loop.post([reply = std::move(reply), body = std::move(request.body)]() mutable {
      reply({.status = 200, .body = std::move(body)});
    });
  });
  ASSERT_TRUE(listening);
  Server& server = **listening;
  auto url = parse_url("http://127.0.0.1:" + std::to_string(server.port())).value();
  auto client = Client::make(client_loop.loop, url, {.max_connections = 8}).value();
  static constexpr int kCalls = 2000;
  std::atomic<int> right{0};
  for (int i = 0; i < kCalls; ++i) {
    client->send({.body = std::to_string(i)},
                 [&, i](Result<Response> r) { right += r && r->body == std::to_string(i); });
  }
  EXPECT_TRUE(run_until(home, [&] { return right == kCalls; }));
  EXPECT_EQ(served, kCalls);
  EXPECT_EQ(server.connections(), 8u);
  client.reset();
  stop_and_wait(server);
  EXPECT_EQ(server.connections(), 0u);
}

TEST(Threads, ASinkAnswersOnItsHomeAndEndsWhileDeliveriesAreOpen) {
  LoopThread server_loop, sink_loop;
  net::IoLoop home;
  dripgate::testing::VirtualClock clock;
  std::atomic<int> seen{0};
  auto listening = Server::listen({}, {&server_loop.loop}, [&](Request, Reply reply) {
    // Every third is left unanswered for a while.
    if (++seen % 3 != 0) return reply({.status = 204});
    server_loop.loop.post_after(20ms, [reply = std::move(reply)]() mutable { reply({.status = 204}); });
  });
  ASSERT_TRUE(listening);
  const std::string url = "http://127.0.0.1:" + std::to_string((*listening)->port()) + "/";
  for (int round = 0; round < 20; ++round) {
    auto sink = HttpSink::make({.url = url, .max_connections = 4}, sink_loop.loop, home, clock).value();
    const auto deliver_twenty = [&] {
      auto confirmed = std::make_shared<int>(0);  // touched by home's thread only
      for (int i = 0; i < 20; ++i) {
        sink->deliver(
            {.message = {.id = "m", .body = "x", .attributes = {}, .published = {}}},
            [confirmed](broker::SinkAnswer a) { *confirmed += a.verdict == broker::SinkVerdict::confirmed; });
      }
      return confirmed;
    };
    const auto answered = deliver_twenty();
    ASSERT_TRUE(run_until(home, [&] { return *answered == 20; }));
    (void)deliver_twenty();
    home.run_for(1ms);
  }
  home.run_for(50ms);
  stop_and_wait(**listening);
}

}  // namespace
}  // namespace dripgate::http
