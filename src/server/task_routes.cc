// The route that Cloud Tasks calls for every task that is due. The queue slows down as a whole on 429, 503
// and on many errors, so everything that ends for one event is a 200: released, rebooked, dead-lettered, a
// duplicate. 500 brings one task again; 503 is said only when nothing works here at all.
#include <array>
#include <variant>

#include "base/cloud_tasks.h"
#include "broker/cloud_tasks/task.h"
#include "http/problem.h"
#include "server/task_service.h"
#include "server/visit.h"

namespace dripgate::server {
namespace {

/// Of the queue, when it is told to slow down.
constexpr Duration kSlowDown = 10s;
constexpr Duration kKeysSoon = 1s;
/// Tasks of our own are smaller; nobody else's are taken.
constexpr std::size_t kTaskBodyBytesMax = 2 * kTaskBytesMax;

http::Response receipt_of(broker::Receipt receipt) {
  switch (receipt) {
    case broker::Receipt::handled:
      return {.status = 200, .headers = {{"Content-Type", "text/plain"}}, .body = "ok\n"};
    case broker::Receipt::again:
      return http::problem(500, "again", "this event could not be brought further just now");
    case broker::Receipt::stop:
      break;
  }
  return http::problem(503, "not-ready", "this process does not dispatch right now", kSlowDown);
}

void dispatch(const VisitPtr& visit) {
  broker::TimerEntry entry =
      broker::cloud_tasks::read_task(visit->request.headers, std::move(visit->request.body));
  visit->site->context.tasks->fire(visit->stream(), std::move(entry),
                                   [visit](broker::Receipt receipt) { visit->answer(receipt_of(receipt)); });
}

constexpr std::array kEndpoints{Endpoint{.method = "POST",
                                         .path = "/v1/dispatch/{id}",
                                         .scopes = {},
                                         .open = false,
                                         .run = &dispatch,
                                         .body_bytes_max = kTaskBodyBytesMax,
                                         .by_task = true}};

}  // namespace

std::span<const Endpoint> task_endpoints() {
  return kEndpoints;
}

std::variant<std::string, http::Response> admit_task(const Site& site, const std::string& stream,
                                                     std::string_view authorization) {
  TaskService& tasks = *site.context.tasks;
  if (!tasks.takes_tasks(stream)) {
    return http::problem(404, "not-found",
                         "stream '" + stream +
                             "' takes no tasks here: its timer is not Cloud Tasks, or this "
                             "process does not dispatch");
  }
  const auth::TokenAnswer answer = tasks.admit(stream, authorization);
  if (answer.fault == auth::TokenFault::none) return "tasks of " + stream;
  if (answer.fault == auth::TokenFault::no_keys)
    return http::problem(503, "not-ready", answer.detail, kKeysSoon);
  const bool forbidden = auth::is_forbidden(answer.fault);
  http::Response response = forbidden ? http::problem(403, "forbidden", answer.detail)
                                      : http::problem(401, "unauthorized", answer.detail);
  response.headers.emplace_back("WWW-Authenticate",
                                answer.fault == auth::TokenFault::missing
                                    ? R"(Bearer realm="dripgate")"
                                    : R"(Bearer realm="dripgate", error="invalid_token")");
  return response;
}

}  // namespace dripgate::server
