// The gate for gateways that ask before they pass a request on: nginx auth_request, Caddy and Traefik forward
// auth, HAProxy. Empty body on success; the answer's headers are for the client.
#include <array>

#include "http/problem.h"
#include "render/gate_headers.h"
#include "server/body.h"
#include "server/forwarded.h"
#include "server/visit.h"

namespace dripgate::server {
namespace {

constexpr int kDeniedForNginx = 403;  // auth_request makes a 500 of any other refusal but 401

/// Empty: the query is wrong.
Result<int> denied_status(const http::Target& target) {
  if (target.query.empty()) return 429;
  if (target.query.size() == 1 && target.query[0] == std::pair<std::string, std::string>("deny", "403"))
    return kDeniedForNginx;
  return fail(ErrorCode::invalid_argument, "accepted: no query, or deny=403");
}

http::Response decided(const Visit& visit, const check::Answer& answer, int denied) {
  const bool legacy = visit.config->server.legacy_headers;
  http::Response response{
      .status = render::status_of(answer), .headers = render::gate_headers(answer, legacy), .body = {}};
  if (http::find(visit.request.headers, "Origin") != nullptr && !response.headers.empty()) {
    response.headers.emplace_back("Access-Control-Expose-Headers",
                                  legacy ? render::kExposedLegacyHeaders : render::kExposedHeaders);
  }
  if (answer.allowed()) return response;
  if (response.status == 429) response.status = denied;
  response.headers.emplace_back("Content-Type", "application/problem+json");
  response.body = render::refusal_document(answer) + "\n";
  return response;
}

void forward_auth(const VisitPtr& visit) {
  const auto denied = denied_status(visit->target);
  if (!denied) return visit->answer(problem_of(denied.error()));
  auto forwarded = read_forwarded(visit->request, visit->config->server);
  if (!forwarded) return visit->answer(std::move(forwarded).error());
  if (forwarded->preflight) return visit->answer({.status = 200, .headers = {}, .body = {}});
  visit->gate().check(
      std::move(forwarded->request),
      answering<check::Answer>(visit, [denied = *denied](Visit& v, const check::Answer& answer) {
        v.answer(decided(v, answer, denied));
      }));
}

constexpr std::array kEndpoints{
    Endpoint{"*", "/v1/forward-auth", {auth::Scope::check}, false, &forward_auth, kAdminBodyBytesMax, true}};

}  // namespace

std::span<const Endpoint> forward_auth_endpoints() {
  return kEndpoints;
}

}  // namespace dripgate::server
