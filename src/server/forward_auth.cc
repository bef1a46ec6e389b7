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

constexpr int kRefusedForNginx = 403;  // auth_request makes a 500 of any other refusal but 401

/// How a gateway wants refusals.
enum class Refusals {
  as_they_are,
  in_headers,  // for nginx: every one a 403 without a body, which nginx drops, and its connection with it
};

Result<Refusals> refusals_of(const http::Target& target) {
  if (target.query.empty()) return Refusals::as_they_are;
  if (target.query.size() == 1 && target.query[0] == std::pair<std::string, std::string>("deny", "403"))
    return Refusals::in_headers;
  return fail(ErrorCode::invalid_argument, "accepted: no query, or deny=403");
}

/// Dripgate-Status tells a gateway that this refusal was decided: while nothing decides (a full server, a
/// fault) some gateways let pass, and a policy that is `closed` must not be taken for that.
void refuse(http::Response& response, const check::Answer& answer, Refusals refusals) {
  response.headers.emplace_back("Dripgate-Status", std::to_string(response.status));
  std::string document = render::refusal_document(answer);
  if (refusals == Refusals::in_headers) {
    response.status = kRefusedForNginx;
    response.headers.emplace_back("Dripgate-Problem", std::move(document));
    return;
  }
  response.headers.emplace_back("Content-Type", "application/problem+json");
  response.body = std::move(document) + "\n";
}

http::Response decided(const Visit& visit, const check::Answer& answer, Refusals refusals) {
  const bool legacy = visit.config->server.legacy_headers;
  http::Response response{
      .status = render::status_of(answer), .headers = render::gate_headers(answer, legacy), .body = {}};
  if (http::find(visit.request.headers, "Origin") != nullptr && !response.headers.empty()) {
    response.headers.emplace_back("Access-Control-Expose-Headers",
                                  legacy ? render::kExposedLegacyHeaders : render::kExposedHeaders);
  }
  if (!answer.allowed()) refuse(response, answer, refusals);
  return response;
}

void forward_auth(const VisitPtr& visit) {
  const auto refusals = refusals_of(visit->target);
  if (!refusals) return visit->answer(problem_of(refusals.error()));
  auto forwarded = read_forwarded(visit->request, visit->config->server);
  if (!forwarded) return visit->answer(std::move(forwarded).error());
  if (forwarded->preflight) return visit->answer({.status = 200, .headers = {}, .body = {}});
  visit->gate().check(
      std::move(forwarded->request),
      answering<check::Answer>(visit, [refusals = *refusals](Visit& v, const check::Answer& answer) {
        v.answer(decided(v, answer, refusals));
      }));
}

constexpr std::array kEndpoints{
    Endpoint{"*", "/v1/forward-auth", {auth::Scope::check}, false, &forward_auth, kAdminBodyBytesMax, true}};

}  // namespace

std::span<const Endpoint> forward_auth_endpoints() {
  return kEndpoints;
}

}  // namespace dripgate::server
