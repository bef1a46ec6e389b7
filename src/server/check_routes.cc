// The gate over JSON: check, refund, explain.
#include <array>
#include <mutex>

#include <nlohmann/json.hpp>

#include "check/route.h"
#include "http/problem.h"
#include "render/json_text.h"
#include "server/body.h"
#include "server/check_text.h"
#include "server/visit.h"

namespace dripgate::server {
namespace {

void answer_json(Visit& visit, std::string body) {
  visit.answer(
      {.status = 200, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body) + "\n"});
}

constexpr std::size_t kBracketBytes = 32;  // around the decisions of a batch

/// Answers of a batch, each in its place; the last one to come answers the visit.
struct Batch {
  VisitPtr visit;
  std::vector<std::string> decisions;
  std::size_t missing = 0;

  void take(std::size_t place, std::string text) {
    decisions[place] = std::move(text);
    if (--missing > 0) return;
    std::size_t bytes = kBracketBytes;
    for (const std::string& decision : decisions) bytes += decision.size() + 1;
    std::string body;
    body.reserve(bytes);
    body += "{\"decisions\":[";
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      if (i > 0) body += ',';
      body += decisions[i];
    }
    answer_json(*visit, std::move(body += "]}"));
  }
};

std::string decision_text(const Visit& visit, const check::Answer& answer) {
  constexpr std::size_t kUsualBytes = 1024;
  std::string text;
  text.reserve(kUsualBytes);
  append_decision(text, answer, visit.config->server.legacy_headers);
  return text;
}

std::string error_text(const Error& error) {
  std::string text;
  render::JsonText json(text);
  json.open('{');
  json.name("status").number(status_of(error.code));
  json.name("error").raw(to_text(error.detail));
  json.close('}');
  return text;
}

void check_each(const VisitPtr& visit, std::vector<Result<check::Request>> checks) {
  auto batch = std::make_shared<Batch>(Batch{visit, std::vector<std::string>(checks.size()), checks.size()});
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (!checks[i]) {
      batch->take(i, error_text(checks[i].error()));
      continue;
    }
    visit->gate().check(*std::move(checks[i]), [batch, i](const Result<check::Answer>& answer) {
      batch->take(i, answer ? decision_text(*batch->visit, *answer) : error_text(answer.error()));
    });
  }
}

void check(const VisitPtr& visit) {
  if (auto valid = check_query(visit->target, {}); !valid) return visit->answer(problem_of(valid.error()));
  auto body = read_checks(visit->request.body);
  if (!body) return visit->answer(problem_of(body.error()));
  if (body->batch) return check_each(visit, std::move(body->checks));
  auto& only = body->checks.front();
  if (!only) return visit->answer(problem_of(only.error()));
  const std::string* key = http::find(visit->request.headers, "Idempotency-Key");
  if (key != nullptr && only->idempotency_key.empty()) {
    if (key->empty() || key->size() > kIdempotencyKeyBytesMax) {
      return visit->answer(http::problem(
          400, "bad-request",
          "Idempotency-Key: accepted: text of 1 to " + std::to_string(kIdempotencyKeyBytesMax) + " bytes"));
    }
    only->idempotency_key = *key;
  }
  visit->gate().check(*std::move(only), answering<check::Answer>(visit, [](Visit& v, const auto& answer) {
    answer_json(v, decision_text(v, answer));
  }));
}

void refund(const VisitPtr& visit) {
  if (auto valid = check_query(visit->target, {}); !valid) return visit->answer(problem_of(valid.error()));
  auto body = read_object(visit->request.body, {"id"}, kRefundBodyBytesMax);
  if (!body) return visit->answer(problem_of(body.error()));
  const auto id = body->find("id");
  if (id == body->end() || !id->is_string()) {
    return visit->answer(http::problem(400, "bad-request", "id: accepted: the id of an allowed check"));
  }
  visit->gate().refund(id->get<std::string>(), answering<bool>(visit, [](Visit& v, bool refunded) {
                         v.answer(json_response(200, {{"refunded", refunded}}));
                       }));
}

void explain(const VisitPtr& visit) {
  if (auto valid = check_query(visit->target, {}); !valid) return visit->answer(problem_of(valid.error()));
  auto body = read_checks(visit->request.body);
  if (!body) return visit->answer(problem_of(body.error()));
  if (body->batch || !body->checks.front()) {
    return visit->answer(problem_of(body->batch
                                        ? Error{ErrorCode::invalid_argument, false, "accepted: one check"}
                                        : body->checks.front().error()));
  }
  check::Request& request = *body->checks.front();
  core::Descriptor facts = request.descriptor;
  check::normalise(facts);
  visit->gate().explain(
      std::move(request),
      answering<check::Explanation>(visit, [facts = std::move(facts)](Visit& v, const auto& said) {
        v.answer({.status = 200,
                  .headers = {{"Content-Type", "application/json"}},
                  .body = render_explanation(said, facts)});
      }));
}

using auth::Scope;

constexpr std::array kEndpoints{
    Endpoint{"POST", "/v1/check", {Scope::check}, false, &check, kCheckBodyBytesMax},
    Endpoint{"POST", "/v1/refund", {Scope::check}, false, &refund, kRefundBodyBytesMax},
    Endpoint{"POST", "/v1/explain", {Scope::check, Scope::admin}, false, &explain}};

}  // namespace

std::span<const Endpoint> check_endpoints() {
  return kEndpoints;
}

}  // namespace dripgate::server
