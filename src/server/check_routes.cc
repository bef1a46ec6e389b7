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

constexpr std::size_t kDecisionBytesUsual = 704;

void append_error(std::string& text, const Error& error) {
  render::JsonText json(text);
  json.open('{');
  json.name("status").number(status_of(error.code));
  json.name("error").raw(to_text(error.detail));
  json.close('}');
}

/// Answers of a batch, in the order of its checks; the last one to come answers the visit.
class Batch {
 public:
  Batch(VisitPtr of, std::size_t checks) : visit_(std::move(of)), early_(checks) {
    body_.reserve(checks * kDecisionBytesUsual);
    body_ += "{\"decisions\":[";
  }

  void take(std::size_t place, const Result<check::Answer>& answer) {
    if (place != written_) return append(early_[place], answer);
    begin_next();
    append(body_, answer);
    while (written_ < early_.size() && !early_[written_].empty()) {
      const std::string& text = early_[written_];
      begin_next();
      body_ += text;
    }
    if (written_ == early_.size()) answer_json(*visit_, std::move(body_ += "]}"));
  }

 private:
  void begin_next() {
    if (written_++ > 0) body_ += ',';
  }
  void append(std::string& text, const Result<check::Answer>& answer) const {
    answer ? append_decision(text, *answer, visit_->config->server.legacy_headers)
           : append_error(text, answer.error());
  }

  VisitPtr visit_;
  std::string body_;
  std::size_t written_ = 0;         // so many decisions stand in the body
  std::vector<std::string> early_;  // those that came before an earlier check's
};

std::string decision_text(const Visit& visit, const check::Answer& answer) {
  std::string text;
  text.reserve(kDecisionBytesUsual);
  append_decision(text, answer, visit.config->server.legacy_headers);
  return text;
}

void check_each(const VisitPtr& visit, std::vector<Result<check::Request>> checks) {
  auto batch = std::make_shared<Batch>(visit, checks.size());
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (!checks[i]) {
      batch->take(i, std::unexpected(std::move(checks[i]).error()));
      continue;
    }
    visit->gate().check(*std::move(checks[i]),
                        [batch, i](const Result<check::Answer>& answer) { batch->take(i, answer); });
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
