// Routes: finds the endpoint, checks who asks, hands the visit over. Called on io threads.
#include "server/routes.h"

#include <algorithm>
#include <array>
#include <variant>

#include "http/problem.h"
#include "server/body.h"
#include "server/visit.h"

namespace dripgate::server {

namespace {

std::vector<Endpoint> all_endpoints(bool gate, bool vendors, bool tasks) {
  std::vector<std::span<const Endpoint>> rooms{ingest_endpoints(), stream_endpoints(),
                                               dead_letter_endpoints(), process_endpoints()};
  if (gate) rooms.insert(rooms.begin(), {forward_auth_endpoints(), check_endpoints()});
  if (vendors) rooms.push_back(vendor_endpoints());
  if (tasks) rooms.push_back(task_endpoints());
  std::vector<Endpoint> all;
  for (const auto& some : rooms) all.insert(all.end(), some.begin(), some.end());
  return all;
}

// Empty: the path is another.
std::optional<std::vector<std::string>> match(std::string_view path,
                                              const std::vector<std::string>& segments) {
  std::vector<std::string> captured;
  path.remove_prefix(1);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto slash = path.find('/');
    const std::string_view expected = path.substr(0, slash);
    if (expected.starts_with('{')) {
      if (segments[i].empty()) return std::nullopt;
      captured.push_back(segments[i]);
    } else if (expected != segments[i]) {
      return std::nullopt;
    }
    if (slash == std::string_view::npos)
      return i + 1 == segments.size() ? std::optional(captured) : std::nullopt;
    path.remove_prefix(slash + 1);
  }
  return std::nullopt;
}

struct Found {
  const Endpoint* endpoint;
  http::Target target;
  std::vector<std::string> captured;
};

struct Missed {
  http::Response response;
  std::string_view route;  // for metrics
};

http::Response not_allowed(const std::vector<std::string_view>& methods) {
  std::string allow;
  for (const std::string_view method : methods) {
    if (!allow.empty()) allow += ", ";
    allow += method;
    if (method == "GET") allow += ", HEAD";
  }
  http::Response response = http::problem(405, "method-not-allowed", "accepted: " + allow);
  response.headers.emplace_back("Allow", allow);
  return response;
}

std::string_view method_of(const http::Request& request) {
  return request.method == "HEAD" ? "GET" : std::string_view(request.method);
}

/// A target that is written as its endpoint is: those that are asked very often.
std::optional<Found> find_plainly(const Site& site, const http::Request& request) {
  const std::string_view method = method_of(request);
  for (const Endpoint& endpoint : site.endpoints) {
    if (endpoint.path == request.target && !endpoint.path.contains('{') &&
        (endpoint.method == method || endpoint.method == "*"))
      return Found{&endpoint, {}, {}};
  }
  return std::nullopt;
}

std::variant<Found, Missed> find_endpoint(const Site& site, const http::Request& request) {
  if (auto found = find_plainly(site, request)) return *std::move(found);
  auto target = http::parse_target(request.target);
  if (!target) {
    return Missed{
        http::problem(400, "bad-request", "the request target is not an absolute, well-encoded path"),
        "other"};
  }
  const std::string_view method = method_of(request);
  std::vector<std::string_view> others;
  std::string_view route = "other";
  for (const Endpoint& endpoint : site.endpoints) {
    auto captured = match(endpoint.path, target->segments);
    if (!captured) continue;
    if (endpoint.method == method || endpoint.method == "*")
      return Found{&endpoint, std::move(*target), std::move(*captured)};
    others.push_back(endpoint.method);
    route = endpoint.path;
  }
  if (!others.empty()) return Missed{not_allowed(others), route};
  return Missed{http::problem(404, "not-found", "no such path; see docs/http-api.md"), route};
}

auth::AccessAnswer access_of(Site& site, const config::ConfigPtr& config, const http::Request& request,
                             const Endpoint& endpoint) {
  const bool own = !endpoint.forwarded;
  const std::string certificate = request.peer.client_certificate.value_or("");
  return site.access.of(config)->decide(
      {.authorization = http::value_of(request.headers, "Authorization"),
       .host = own ? http::value_of(request.headers, "Host") : std::string_view(),
       .origin = own ? http::value_of(request.headers, "Origin") : std::string_view(),
       .loopback = request.peer.loopback,
       .client_certificate = certificate},
      endpoint.scopes);
}

http::Response refusal(const auth::AccessAnswer& access, bool credentials_given) {
  if (access.verdict == auth::AccessAnswer::Verdict::forbidden) {
    http::Response response = http::problem(403, "forbidden", access.detail);
    if (credentials_given) {
      response.headers.emplace_back("WWW-Authenticate",
                                    R"(Bearer realm="dripgate", error="insufficient_scope")");
    }
    return response;
  }
  http::Response response = http::problem(401, "unauthorized", access.detail);
  response.headers.emplace_back("WWW-Authenticate", credentials_given
                                                        ? R"(Bearer realm="dripgate", error="invalid_token")"
                                                        : R"(Bearer realm="dripgate")");
  return response;
}

// Lets it in (with the name for the audit line) or says why not.
std::variant<std::string, http::Response> admit(Site& site, const config::ConfigPtr& config,
                                                const Found& found, const http::Request& request) {
  if (found.endpoint->by_task)
    return admit_task(site, found.captured.front(), http::value_of(request.headers, "Authorization"));
  const auto access = access_of(site, config, request, *found.endpoint);
  if (access.verdict == auth::AccessAnswer::Verdict::granted) return access.identity;
  if (found.endpoint->open) return std::string();
  return refusal(access, !http::value_of(request.headers, "Authorization").empty());
}

http::Response counted(Site& site, std::string_view route, http::Response response) {
  response.headers.emplace_back("Cache-Control", "no-store");
  site.context.metrics.http_request(route, response.status);
  return response;
}

void handle(const SitePtr& site, http::Request&& request, http::Reply&& reply) {
  auto where = find_endpoint(*site, request);
  if (auto* missed = std::get_if<Missed>(&where)) {
    return reply(counted(*site, missed->route, std::move(missed->response)));
  }
  Found& found = std::get<Found>(where);
  const config::ConfigPtr config = site->context.config();
  auto admitted = admit(*site, config, found, request);
  if (auto* refused = std::get_if<http::Response>(&admitted)) {
    return reply(counted(*site, found.endpoint->path, std::move(*refused)));
  }
  const auto visit = std::make_shared<Visit>(site, config, found.endpoint->path, std::move(request),
                                             std::move(found.target), std::move(found.captured),
                                             std::get<std::string>(std::move(admitted)), std::move(reply));
  if (!visit->captured.empty() && !visit->of_vendor() && !visit->service().has_stream(visit->stream())) {
    return visit->answer(
        http::problem(404, "not-found", "stream '" + visit->stream() + "' is not in the config"));
  }
  found.endpoint->run(visit);
}

// Refused by what the header announces, before it is read.
bool announces_too_much(const Endpoint& endpoint, const http::Request& head) {
  const auto length = parse_number(http::value_of(head.headers, "Content-Length"));
  return length && *length > endpoint.body_bytes_max;
}

std::optional<http::Response> check_head(const SitePtr& site, const http::Request& head) {
  auto where = find_endpoint(*site, head);
  if (auto* missed = std::get_if<Missed>(&where)) {
    return counted(*site, missed->route, std::move(missed->response));
  }
  const Found& found = std::get<Found>(where);
  auto admitted = admit(*site, site->context.config(), found, head);
  if (auto* refused = std::get_if<http::Response>(&admitted)) {
    return counted(*site, found.endpoint->path, std::move(*refused));
  }
  if (!announces_too_much(*found.endpoint, head)) return std::nullopt;
  return counted(
      *site, found.endpoint->path,
      http::problem(413, "too-large",
                    "the body is over " + std::to_string(found.endpoint->body_bytes_max) + " bytes"));
}

}  // namespace

Site::Site(RouteContext c)
    : context(std::move(c)),
      endpoints(
          all_endpoints(context.gate != nullptr, context.vendors != nullptr, context.tasks != nullptr)) {}

std::shared_ptr<const auth::Access> AccessRules::of(const config::ConfigPtr& config) {
  const std::scoped_lock lock(mutex_);
  if (seen_ != config) {
    access_ = std::make_shared<const auth::Access>(config->server);
    seen_ = config;
  }
  return access_;
}

void Visit::answer(http::Response response) {
  if (auto to = std::exchange(reply, nullptr)) to(counted(*site, route, std::move(response)));
}

void Visit::audit(std::string_view action, std::string_view subject, std::string_view outcome) const {
  site->context.log.audit(action, {{of_vendor() ? "vendor" : "stream", captured.at(0)},
                                   {"subject", subject},
                                   {"outcome", outcome},
                                   {"by", identity},
                                   {"peer", request.peer.address}});
}

Routes make_routes(RouteContext context) {
  auto site = std::make_shared<Site>(std::move(context));
  return {.handler = [site](http::Request request,
                            http::Reply reply) { handle(site, std::move(request), std::move(reply)); },
          .head_check = [site](const http::Request& head) { return check_head(site, head); }};
}

}  // namespace dripgate::server
