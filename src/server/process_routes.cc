// The process: metrics, health, readiness.
#include <array>

#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "http/problem.h"
#include "server/gather.h"
#include "server/visit.h"

namespace dripgate::server {

namespace {

void metrics(const VisitPtr& visit) {
  gather_status(visit->service(), [visit](const std::vector<GatheredStatus>& all) {
    obs::Metrics& metrics = visit->site->context.metrics;
    for (const auto& [stream, status] : all) {
      if (!status) continue;
      metrics.stream(stream).set({.paused = status->paused,
                                  .in_flight = status->outstanding,
                                  .backlog = status->backlog,
                                  .dead_letters = status->dead_letters,
                                  .oldest_slot = status->oldest_slot,
                                  .eta = status->eta},
                                 visit->service().now());
    }
    metrics.set_ready(visit->service().readiness().ready);
    visit->answer({.status = 200,
                   .headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                   .body = metrics.text()});
  });
}

void healthz(const VisitPtr& visit) {
  visit->answer({.status = 200, .headers = {{"Content-Type", "text/plain"}}, .body = "ok\n"});
}

nlohmann::ordered_json config_of(const ConfigState& state) {
  nlohmann::ordered_json config{{"version", state.version},
                                {"appliedAt", format_rfc3339(state.applied, Fraction::milliseconds)}};
  if (state.reload) config["reload"] = *state.reload;
  if (!state.refused.empty()) config["refused"] = state.refused;
  return config;
}

// A stranger learns yes or no; the rest names files and peers.
void readyz(const VisitPtr& visit) {
  const auto readiness = visit->service().readiness();
  const bool tells = !visit->identity.empty();
  if (readiness.ready) {
    nlohmann::ordered_json body{{"ready", true}};
    if (tells) body["config"] = config_of(readiness.config);
    if (tells && !readiness.warnings.empty()) body["warnings"] = readiness.warnings;
    return visit->answer(json_response(200, body));
  }
  http::Response response = http::problem(503, "not-ready", "this process does not take work right now");
  auto body = nlohmann::ordered_json::parse(response.body);
  if (tells) {
    body["reasons"] = readiness.reasons;
    body["config"] = config_of(readiness.config);
  }
  response.body = to_text(body) + "\n";
  visit->answer(std::move(response));
}

constexpr auth::ScopeSet kAnyone = auth::ScopeSet::all();

constexpr std::array kEndpoints{Endpoint{"GET", "/metrics", kAnyone, false, &metrics},
                                Endpoint{"GET", "/healthz", kAnyone, true, &healthz},
                                Endpoint{"GET", "/readyz", kAnyone, true, &readyz}};

}  // namespace

std::span<const Endpoint> process_endpoints() {
  return kEndpoints;
}

}  // namespace dripgate::server
