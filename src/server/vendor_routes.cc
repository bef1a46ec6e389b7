// Outbound limits: may a call to a vendor start, what its answer said, and an operator's freeze.
#include <array>

#include <nlohmann/json.hpp>

#include "http/problem.h"
#include "server/vendor_body.h"
#include "server/visit.h"

namespace dripgate::server {
namespace {

void answer_text(Visit& visit, std::string body) {
  visit.answer({.status = 200,
                .headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
                .body = std::move(body) + "\n"});
}

/// A vendor that is closed while the store is away has decided, in the words of a check: no client may take
/// it for an answer that got lost, and let the call pass.
http::Response refusal_of(const Error& error) {
  if (error.code != ErrorCode::unavailable) return problem_of(error);
  return http::problem(503, "limiter-unavailable", error.detail, kRetryUnavailableAfter);
}

void acquire(const VisitPtr& visit) {
  auto call = read_acquire(visit->request.body);
  if (!call) return visit->answer(problem_of(call.error()));
  visit->vendors().acquire(*std::move(call), [visit](const Result<vendor::Acquired>& acquired) {
    if (!acquired) return visit->answer(refusal_of(acquired.error()));
    // No wait helps: a client that tried again would try for ever.
    if (acquired->impossible)
      return visit->answer(
          http::problem(400, "cost-exceeds-limit", "cost: above what a limit of this vendor can ever hold"));
    answer_text(*visit, render_acquired(*acquired));
  });
}

void observe(const VisitPtr& visit) {
  auto call = read_observe(visit->request.body);
  if (!call) return visit->answer(problem_of(call.error()));
  visit->vendors().observe(*std::move(call),
                           answering<vendor::Observed>(visit, [](Visit& v, const vendor::Observed& observed) {
                             answer_text(v, render_observed(observed));
                           }));
}

/// The query names the attributes of the vendor's key.
core::Descriptor attributes_of(const Visit& visit) {
  core::Descriptor attributes;
  for (const auto& [name, value] : visit.target.query) attributes.emplace(name, value);
  return attributes;
}

void inspect(const VisitPtr& visit) {
  visit->vendors().inspect(
      visit->captured.at(0), attributes_of(*visit),
      answering<vendor::VendorStatus>(visit, [](Visit& v, const vendor::VendorStatus& status) {
        answer_text(v, render_vendor(status));
      }));
}

Done<vendor::Operated> operated(VisitPtr visit, std::string_view action) {
  return [visit = std::move(visit), action](const Result<vendor::Operated>& result) {
    const std::string& vendor = visit->captured.at(0);
    visit->audit(action, result ? result->key : vendor, result ? "done" : to_string(result.error().code));
    result ? answer_text(*visit, render_operated(vendor, *result))
           : visit->answer(problem_of(result.error()));
  };
}

void freeze(const VisitPtr& visit) {
  const WallTime now = visit->service().now();
  const auto until = read_freeze_end(visit->request.body, now);
  if (!until) return visit->answer(problem_of(until.error()));
  visit->vendors().freeze(visit->captured.at(0), attributes_of(*visit), *until - now,
                          operated(visit, "vendor-freeze"));
}

void thaw(const VisitPtr& visit) {
  if (const auto body = read_object(visit->request.body, {}); !body)
    return visit->answer(problem_of(body.error()));
  visit->vendors().thaw(visit->captured.at(0), attributes_of(*visit), operated(visit, "vendor-thaw"));
}

using auth::Scope;

constexpr std::array kEndpoints{
    Endpoint{"POST", "/v1/acquire", {Scope::vendor}, false, &acquire, kVendorBodyBytesMax},
    Endpoint{"POST", "/v1/observe", {Scope::vendor}, false, &observe, kVendorBodyBytesMax},
    Endpoint{"GET", "/v1/vendors/{id}", {Scope::vendor, Scope::admin}, false, &inspect},
    Endpoint{"POST", "/v1/vendors/{id}/freeze", {Scope::admin}, false, &freeze},
    Endpoint{"POST", "/v1/vendors/{id}/thaw", {Scope::admin}, false, &thaw}};

}  // namespace

std::span<const Endpoint> vendor_endpoints() {
  return kEndpoints;
}

}  // namespace dripgate::server
