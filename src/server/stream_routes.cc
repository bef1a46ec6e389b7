// Streams and their keys: look, freeze, thaw, reset, pause, resume.
#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "http/problem.h"
#include "server/body.h"
#include "server/gather.h"
#include "server/visit.h"

namespace dripgate::server {

using Json = nlohmann::ordered_json;

namespace {

constexpr auth::ScopeSet kReaders{auth::Scope::ingest, auth::Scope::consume, auth::Scope::admin};
constexpr auth::ScopeSet kOperators{auth::Scope::admin};

// True: answered, the query or the body holds something that the route does not know.
bool refused_input(Visit& visit) {
  if (auto query = check_query(visit.target, {}); !query) {
    visit.answer(problem_of(query.error()));
    return true;
  }
  if (visit.request.method != "POST") return false;
  if (auto body = read_object(visit.request.body, {}); !body) {
    visit.answer(problem_of(body.error()));
    return true;
  }
  return false;
}

// Answers what the operator's call gave, and writes the audit line for either outcome.
Done<void> operated(VisitPtr visit, std::string_view action, std::string subject, Json answer) {
  return [visit = std::move(visit), action, subject = std::move(subject),
          answer = std::move(answer)](Result<void> result) {
    visit->audit(action, subject, result ? "done" : to_string(result.error().code));
    visit->answer(result ? json_response(200, answer) : problem_of(result.error()));
  };
}

void list_streams(const VisitPtr& visit) {
  if (refused_input(*visit)) return;
  gather_status(visit->service(), [visit](const std::vector<GatheredStatus>& all) {
    Json streams = Json::array();
    for (const auto& [stream, status] : all) {
      streams.push_back(status ? render_status(stream, *status)
                               : Json{{"id", stream}, {"error", status.error().detail}});
    }
    visit->answer(json_response(200, {{"streams", streams}}));
  });
}

void show_stream(const VisitPtr& visit) {
  if (refused_input(*visit)) return;
  visit->service().status(
      visit->stream(),
      answering<drip::PipelineStatus>(visit, [](Visit& v, const drip::PipelineStatus& status) {
        v.answer(json_response(200, render_status(v.stream(), status)));
      }));
}

core::BookingPolicyPtr limits_of(const Visit& visit) {
  for (const config::StreamSettings& settings : visit.config->streams) {
    if (settings.stream->id == visit.stream()) return settings.stream->booking;
  }
  return nullptr;
}

void show_key(const VisitPtr& visit) {
  if (refused_input(*visit)) return;
  visit->service().key_status(
      visit->stream(), visit->captured[1], answering<KeyStatus>(visit, [](Visit& v, const KeyStatus& status) {
        v.answer(json_response(200, render_key(v.stream(), v.captured[1], status, limits_of(v).get())));
      }));
}

void freeze(const VisitPtr& visit) {
  if (auto query = check_query(visit->target, {}); !query) return visit->answer(problem_of(query.error()));
  const auto until = read_freeze_end(visit->request.body, visit->service().now());
  if (!until) return visit->answer(problem_of(until.error()));
  const std::string& key = visit->captured[1];
  Json answer{{"stream", visit->stream()}, {"key", key}, {"frozenUntil", format_rfc3339(*until)}};
  visit->service().freeze(visit->stream(), key, *until, operated(visit, "freeze", key, std::move(answer)));
}

void thaw(const VisitPtr& visit) {
  if (refused_input(*visit)) return;
  const std::string& key = visit->captured[1];
  Json answer{{"stream", visit->stream()}, {"key", key}, {"frozenUntil", nullptr}};
  visit->service().thaw(visit->stream(), key, operated(visit, "thaw", key, std::move(answer)));
}

void reset(const VisitPtr& visit) {
  if (refused_input(*visit)) return;
  const std::string& key = visit->captured[1];
  Json answer{{"stream", visit->stream()}, {"key", key}, {"reset", true}};
  visit->service().reset(visit->stream(), key, operated(visit, "reset", key, std::move(answer)));
}

void pause(const VisitPtr& visit) {
  if (refused_input(*visit)) return;
  Json answer{{"stream", visit->stream()}, {"paused", true}};
  visit->service().pause(visit->stream(), operated(visit, "pause", "", std::move(answer)));
}

void resume(const VisitPtr& visit) {
  if (refused_input(*visit)) return;
  Json answer{{"stream", visit->stream()}, {"paused", false}};
  visit->service().resume(visit->stream(), operated(visit, "resume", "", std::move(answer)));
}

constexpr std::array kEndpoints{
    Endpoint{"GET", "/v1/streams", kReaders, false, &list_streams},
    Endpoint{"GET", "/v1/streams/{id}", kReaders, false, &show_stream},
    Endpoint{"GET", "/v1/streams/{id}/keys/{key}", kReaders, false, &show_key},
    Endpoint{"POST", "/v1/streams/{id}/keys/{key}/freeze", kOperators, false, &freeze},
    Endpoint{"POST", "/v1/streams/{id}/keys/{key}/thaw", kOperators, false, &thaw},
    Endpoint{"POST", "/v1/streams/{id}/keys/{key}/reset", kOperators, false, &reset},
    Endpoint{"POST", "/v1/streams/{id}/pause", kOperators, false, &pause},
    Endpoint{"POST", "/v1/streams/{id}/resume", kOperators, false, &resume}};

}  // namespace

std::span<const Endpoint> stream_endpoints() {
  return kEndpoints;
}

}  // namespace dripgate::server
