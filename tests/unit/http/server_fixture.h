// A server on a free port and one loop that the test drives, and the handler that it calls.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "http/server.h"
#include "unit/http/raw_socket.h"

namespace dripgate::http::testing {

inline std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

struct ServerFixture : ::testing::Test {
  net::IoLoop loop;
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

}  // namespace dripgate::http::testing
