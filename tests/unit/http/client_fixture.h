// A client and a real server on one loop that the test drives.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http/client.h"
#include "http/server.h"
#include "unit/http/raw_socket.h"

namespace dripgate::http::testing {

struct ClientFixture : ::testing::Test {
  net::IoLoop loop;
  std::vector<Request> seen;
  std::vector<Reply> held;
  bool hold = false;
  Response answer{.status = 200, .headers = {}, .body = "fine"};
  std::unique_ptr<Server> server;
  std::unique_ptr<Client> client;

  void start(std::optional<net::ServerTls> tls = std::nullopt) {
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

}  // namespace dripgate::http::testing
