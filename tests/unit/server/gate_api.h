// The gate's routes over a real Checker on the memory store, on virtual time.
#pragma once

#include "unit/check/world.h"
#include "unit/server/checker_service.h"
#include "unit/server/fake_service.h"

namespace dripgate::server::testing {

using check::kOriginal;

struct GateApi {
  /// `server`: members of `server:`, in one line.
  explicit GateApi(const std::string& policies = kOriginal, const std::string& server = "")
      : world(policies + (server.empty() ? "" : "\nserver: { " + server + " }\n")) {}

  http::Response call(http::Request what) {
    std::optional<http::Response> answer;
    routes.handler(std::move(what), [&](http::Response r) { answer = std::move(r); });
    return answer ? std::move(*answer) : http::Response{.status = 0};
  }
  http::Response post(const std::string& target, const std::string& body, http::Headers headers = {}) {
    return call(Api::request("POST", target, body, std::move(headers)));
  }
  http::Response forward(const std::string& method, const std::string& uri, http::Headers headers = {},
                         const std::string& query = "") {
    headers.emplace_back("X-Forwarded-Method", method);
    headers.emplace_back("X-Forwarded-Uri", uri);
    return call(Api::request("GET", "/v1/forward-auth" + query, "", std::move(headers)));
  }

  check::World world;
  CheckerService gate{world.checker};
  FakeService service;
  obs::Metrics metrics;
  obs::Log log{{.write = [](std::string_view) {}}};
  Routes routes = make_routes({.service = service,
                               .config = [this] { return world.config; },
                               .metrics = metrics,
                               .log = log,
                               .gate = &gate});
};

inline std::string header(const http::Response& response, const char* name) {
  const std::string* value = http::find(response.headers, name);
  return value == nullptr ? "(none)" : *value;
}

}  // namespace dripgate::server::testing
