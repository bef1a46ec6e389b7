// Dead letters: list, show, replay, remove, purge.
#include <array>

#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "drip/reasons.h"
#include "http/problem.h"
#include "server/body.h"
#include "server/visit.h"

namespace dripgate::server {

using Json = nlohmann::ordered_json;

namespace {

// Payloads may hold what a producer should not read back: ingest alone does not open them.
constexpr auth::ScopeSet kReaders{auth::Scope::consume, auth::Scope::admin};
constexpr auth::ScopeSet kOperators{auth::Scope::admin};
constexpr std::uint64_t kPageDefault = 100;
constexpr std::uint64_t kSequenceMax = std::uint64_t{1} << 62;

http::Response no_such_letter(const Visit& visit) {
  return http::problem(404, "not-found",
                       "no dead letter '" + visit.captured[1] + "' in stream '" + visit.stream() + "'");
}

// Empty: answered. A sequence that is no number names no letter.
std::optional<std::uint64_t> sequence_of(Visit& visit) {
  if (auto query = check_query(visit.target, {}); !query) {
    visit.answer(problem_of(query.error()));
    return std::nullopt;
  }
  const auto sequence = parse_number(visit.captured[1]);
  if (sequence && *sequence <= kSequenceMax) return sequence;
  visit.answer(no_such_letter(visit));
  return std::nullopt;
}

void list(const VisitPtr& visit) {
  const auto query = check_query(visit->target, {"after", "limit"});
  if (!query) return visit->answer(problem_of(query.error()));
  const auto after = query_number(visit->target, "after", 0, 0, kSequenceMax);
  if (!after) return visit->answer(problem_of(after.error()));
  const auto limit = query_number(visit->target, "limit", kPageDefault, 1, kDeadLettersAnswerMax);
  if (!limit) return visit->answer(problem_of(limit.error()));
  visit->service().dead_letters(
      visit->stream(), *after, *limit,
      answering<broker::DeadLetterPage>(visit, [limit = *limit](Visit& v,
                                                                const broker::DeadLetterPage& page) {
        Json letters = Json::array();
        for (const broker::DeadLetter& letter : page.letters) letters.push_back(render_letter(letter));
        const bool more = page.letters.size() >= limit;
        v.answer(json_response(200, {{"deadLetters", letters},
                                     {"total", page.total},
                                     {"next", more ? Json(page.letters.back().sequence) : Json(nullptr)}}));
      }));
}

void show(const VisitPtr& visit) {
  const auto sequence = sequence_of(*visit);
  if (!sequence) return;
  visit->service().dead_letter(
      visit->stream(), *sequence,
      answering<std::optional<broker::DeadLetter>>(
          visit, [](Visit& v, const std::optional<broker::DeadLetter>& letter) {
            v.answer(letter ? json_response(200, render_whole_letter(*letter)) : no_such_letter(v));
          }));
}

// {"perSecond": 100}
Result<std::int64_t> replay_rate(const Visit& visit) {
  const auto body = read_object(visit.request.body, {"perSecond"});
  if (!body) return std::unexpected(body.error());
  if (!body->contains("perSecond")) return drip::ReplayRequest{}.per_second;
  const auto& rate = (*body)["perSecond"];
  const bool whole =
      rate.is_number_integer() && rate.get<std::int64_t>() >= 1 && rate.get<std::int64_t>() <= kReplayRateMax;
  if (whole) return rate.get<std::int64_t>();
  return fail(ErrorCode::invalid_argument,
              "perSecond: accepted is a whole number from 1 to " + std::to_string(kReplayRateMax));
}

// Answers {name: count}, with an audit line; `one`: none is a 404.
Done<std::uint64_t> counted(VisitPtr visit, std::string_view action, std::string subject, const char* name,
                            bool one) {
  return [visit = std::move(visit), action, subject = std::move(subject), name,
          one](Result<std::uint64_t> count) {
    visit->audit(action, subject, count ? std::to_string(*count) : to_string(count.error().code));
    if (!count) return visit->answer(problem_of(count.error()));
    visit->answer(one && *count == 0 ? no_such_letter(*visit) : json_response(200, {{name, *count}}));
  };
}

void replay_all(const VisitPtr& visit) {
  if (auto query = check_query(visit->target, {}); !query) return visit->answer(problem_of(query.error()));
  const auto rate = replay_rate(*visit);
  if (!rate) return visit->answer(problem_of(rate.error()));
  visit->service().replay(visit->stream(), {.sequence = std::nullopt, .per_second = *rate},
                          counted(visit, "dead letters replay", "", "replaying", false));
}

// {"replaying": 1, "id": what it goes out under}: of a conflict that is not the id it came with.
Done<std::uint64_t> replayed(VisitPtr visit, const broker::DeadLetter& letter) {
  const bool conflict = letter.reason == drip::reasons::kIdConflict;
  return [visit = std::move(visit), id = letter.event_id, conflict](Result<std::uint64_t> count) {
    visit->audit("dead letter replay", visit->captured[1],
                 count ? std::to_string(*count) : to_string(count.error().code));
    if (!count) return visit->answer(problem_of(count.error()));
    Json body{{"replaying", *count}, {"id", id}};
    if (conflict) body["conflict"] = true;
    visit->answer(json_response(200, body));
  };
}

void replay_one(const VisitPtr& visit) {
  const auto sequence = sequence_of(*visit);
  if (!sequence) return;
  if (auto body = read_object(visit->request.body, {}); !body) return visit->answer(problem_of(body.error()));
  visit->service().dead_letter(
      visit->stream(), *sequence,
      answering<std::optional<broker::DeadLetter>>(
          visit, [visit, sequence](Visit& v, const std::optional<broker::DeadLetter>& letter) {
            if (!letter) {
              v.audit("dead letter replay", v.captured[1], to_string(ErrorCode::not_found));
              return v.answer(no_such_letter(v));
            }
            v.service().replay(v.stream(), {.sequence = sequence}, replayed(visit, *letter));
          }));
}

void remove(const VisitPtr& visit) {
  const auto sequence = sequence_of(*visit);
  if (!sequence) return;
  if (auto body = read_object(visit->request.body, {}); !body) return visit->answer(problem_of(body.error()));
  visit->service().purge(visit->stream(), sequence, kLongAgo,
                         counted(visit, "dead letter remove", visit->captured[1], "removed", true));
}

// {"olderThan": "24h"}
void purge(const VisitPtr& visit) {
  if (auto query = check_query(visit->target, {}); !query) return visit->answer(problem_of(query.error()));
  const auto body = read_object(visit->request.body, {"olderThan"});
  if (!body) return visit->answer(problem_of(body.error()));
  if (!body->contains("olderThan") || !(*body)["olderThan"].is_string()) {
    return visit->answer(http::problem(400, "bad-request", R"(accepted: {"olderThan": "24h"})"));
  }
  const std::string text = (*body)["olderThan"].get<std::string>();
  const auto age = parse_span(text);
  if (!age) return visit->answer(problem_of(age.error()));
  // Batch by batch: the process may end in between, and what is gone by then must be accounted for.
  const std::string which = age->count() == 0 ? "all" : "older than " + text;
  visit->audit("dead letters purge", which, "begun");
  visit->service().purge(visit->stream(), std::nullopt, visit->service().now() - *age,
                         counted(visit, "dead letters purge", which, "removed", false));
}

constexpr std::array kEndpoints{
    Endpoint{"GET", "/v1/streams/{id}/dead-letters", kReaders, false, &list},
    Endpoint{"POST", "/v1/streams/{id}/dead-letters/replay", kOperators, false, &replay_all},
    Endpoint{"POST", "/v1/streams/{id}/dead-letters/purge", kOperators, false, &purge},
    Endpoint{"GET", "/v1/streams/{id}/dead-letters/{seq}", kReaders, false, &show},
    Endpoint{"DELETE", "/v1/streams/{id}/dead-letters/{seq}", kOperators, false, &remove},
    Endpoint{"POST", "/v1/streams/{id}/dead-letters/{seq}/replay", kOperators, false, &replay_one}};

}  // namespace

std::span<const Endpoint> dead_letter_endpoints() {
  return kEndpoints;
}

}  // namespace dripgate::server
