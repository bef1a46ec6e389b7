// The client against a real server and against peers that misbehave, on one loop.
#include "http/answer_reader.h"
#include "support/certificates.h"
#include "unit/http/client_fixture.h"

namespace dripgate::http {
namespace {

using testing::run_until;
using ClientTest = testing::ClientFixture;

/// A TCP peer that answers the n-th connection's first bytes with the n-th script and then closes or stays
/// silent.
class ScriptedPeer {
 public:
  explicit ScriptedPeer(net::IoLoop& loop)
      : loop_(loop), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
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
  net::IoLoop& loop_;
  int fd_;
  int connection_ = -1;
  std::uint16_t port_ = 0;
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
  const dripgate::testing::Certificates files;
  start(net::ServerTls{.cert_file = files.cert, .key_file = files.key});
  connect(url("https"), {.tls = {.ca_file = files.ca}});
  for (int i = 0; i < 3; ++i) {
    const auto result = call({.body = std::string(200'000, 'x')});
    ASSERT_TRUE(result) << result.error().detail;
    EXPECT_EQ(result->body, "fine");
  }
  EXPECT_EQ(ports().size(), 1u);
  EXPECT_EQ(seen[0].body.size(), 200'000u);
  EXPECT_FALSE(seen[0].peer.client_certificate);
  connect(url("https", "localhost"), {.tls = {.ca_file = files.ca}});
  EXPECT_TRUE(call({}));
  const std::size_t before = seen.size();
  connect(url("https", "127.0.0.2"), {.tls = {.ca_file = files.ca}});
  EXPECT_FALSE(call({})) << "the certificate does not name 127.0.0.2";
  connect(url("https"), {.tls = {.ca_file = files.other_ca}});
  EXPECT_FALSE(call({})) << "another CA signed it";
  connect(url("https"));
  EXPECT_FALSE(call({})) << "the system does not know this CA";
  EXPECT_EQ(seen.size(), before);
}

TEST_F(ClientTest, AServerWithAClientCaTakesOnlyClientsWithItsCertificate) {
  const dripgate::testing::Certificates files;
  start(net::ServerTls{.cert_file = files.cert, .key_file = files.key, .client_ca_file = files.ca});
  connect(url("https"), {.tls = {.ca_file = files.ca}});
  EXPECT_FALSE(call({}));
  EXPECT_TRUE(seen.empty());
  connect(url("https"),
          {.tls = {.ca_file = files.ca, .cert_file = files.client_cert, .key_file = files.client_key}});
  const auto result = call({});
  ASSERT_TRUE(result) << result.error().detail;
  EXPECT_EQ(seen[0].peer.client_certificate, "/CN=ops");
}

}  // namespace
}  // namespace dripgate::http
