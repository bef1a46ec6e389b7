// Visit: one request on its way through a route, and Site: what all routes share. Inside src/server only. A
// Visit is shared by the callbacks that will answer it; whoever comes first answers.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "auth/access.h"
#include "http/message.h"
#include "http/url.h"
#include "server/body.h"
#include "server/ingest_meter.h"
#include "server/routes.h"

namespace dripgate::server {

/// Access rules of the config in force; rebuilt when that changes. Thread-safe.
class AccessRules {
 public:
  [[nodiscard]] std::shared_ptr<const auth::Access> of(const config::ConfigPtr& config);

 private:
  std::mutex mutex_;
  config::ConfigPtr seen_;
  std::shared_ptr<const auth::Access> access_;
};

struct Visit;
using VisitPtr = std::shared_ptr<Visit>;

struct Endpoint {
  std::string_view method;  // "*": any
  std::string_view path;    // "/v1/streams/{id}/events": a segment in braces captures
  auth::ScopeSet scopes;    // any of these
  bool open;                // needs no credential
  void (*run)(const VisitPtr&);
  std::size_t body_bytes_max = kAdminBodyBytesMax;
  bool forwarded = false;  // Host and Origin are those of the request that a proxy asks for
  bool by_task = false;    // the caller proves itself by an identity token of the stream, not by a scope
};

struct Site {
  explicit Site(RouteContext c);
  RouteContext context;
  const std::vector<Endpoint> endpoints;
  AccessRules access;
  IngestMeter ingest_meter;
};
using SitePtr = std::shared_ptr<Site>;

struct Visit {
  SitePtr site;
  config::ConfigPtr config;
  std::string_view route;  // its template, for metrics
  http::Request request;
  http::Target target;
  std::vector<std::string> captured;  // {id}, then {key} or {seq}
  std::string identity;               // who asks; empty: a stranger at an open route
  http::Reply reply;

  [[nodiscard]] StreamService& service() const { return site->context.service; }
  /// Set for the endpoints of the gate.
  [[nodiscard]] GateService& gate() const { return *site->context.gate; }
  /// Set for the endpoints of vendors.
  [[nodiscard]] VendorService& vendors() const { return *site->context.vendors; }
  [[nodiscard]] const std::string& stream() const { return captured.at(0); }
  /// {id} is a vendor's, not a stream's.
  [[nodiscard]] bool of_vendor() const { return route.starts_with("/v1/vendors/"); }
  void answer(http::Response response);
  /// One line of what an operator changed; `subject` is a key or a dead letter's number, or empty.
  void audit(std::string_view action, std::string_view subject, std::string_view outcome) const;
};

/// The routes, by room of the API; static.
[[nodiscard]] std::span<const Endpoint> check_endpoints();
[[nodiscard]] std::span<const Endpoint> vendor_endpoints();
[[nodiscard]] std::span<const Endpoint> forward_auth_endpoints();
[[nodiscard]] std::span<const Endpoint> ingest_endpoints();
[[nodiscard]] std::span<const Endpoint> stream_endpoints();
[[nodiscard]] std::span<const Endpoint> dead_letter_endpoints();
[[nodiscard]] std::span<const Endpoint> process_endpoints();
[[nodiscard]] std::span<const Endpoint> task_endpoints();

/// Of an endpoint `by_task`: who it is, or why not.
[[nodiscard]] std::variant<std::string, http::Response> admit_task(const Site& site,
                                                                   const std::string& stream,
                                                                   std::string_view authorization);

/// A callback that hands its value to `then` and answers errors as problem documents.
template <class T, class F>
[[nodiscard]] Done<T> answering(VisitPtr visit, F then);

}  // namespace dripgate::server

#include "server/render.h"

namespace dripgate::server {

template <class T, class F>
Done<T> answering(VisitPtr visit, F then) {
  return [visit = std::move(visit), then = std::move(then)](Result<T> result) mutable {
    if (!result) return visit->answer(problem_of(result.error()));
    if constexpr (std::is_void_v<T>) {
      then(*visit);
    } else {
      then(*visit, std::move(*result));
    }
  };
}

}  // namespace dripgate::server
