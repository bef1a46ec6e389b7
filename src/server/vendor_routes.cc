// Outbound limits: may a call to a vendor start, and what its answer said.
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

void acquire(const VisitPtr& visit) {
  auto call = read_acquire(visit->request.body);
  if (!call) return visit->answer(problem_of(call.error()));
  visit->vendors().acquire(
      *std::move(call), answering<vendor::Acquired>(visit, [](Visit& v, const vendor::Acquired& acquired) {
        // No wait helps: a client that tried again would try for ever.
        if (acquired.impossible)
          return v.answer(http::problem(400, "cost-exceeds-limit",
                                        "cost: above what a limit of this vendor can ever hold"));
        answer_text(v, render_acquired(acquired));
      }));
}

void observe(const VisitPtr& visit) {
  auto call = read_observe(visit->request.body);
  if (!call) return visit->answer(problem_of(call.error()));
  visit->vendors().observe(*std::move(call),
                           answering<vendor::Observed>(visit, [](Visit& v, const vendor::Observed& observed) {
                             answer_text(v, render_observed(observed));
                           }));
}

void inspect(const VisitPtr& visit) {
  core::Descriptor attributes;
  for (const auto& [name, value] : visit->target.query) attributes.emplace(name, value);
  visit->vendors().inspect(
      visit->captured.at(0), attributes,
      answering<vendor::VendorStatus>(visit, [](Visit& v, const vendor::VendorStatus& status) {
        answer_text(v, render_vendor(status));
      }));
}

using auth::Scope;

constexpr std::array kEndpoints{
    Endpoint{"POST", "/v1/acquire", {Scope::vendor}, false, &acquire, kVendorBodyBytesMax},
    Endpoint{"POST", "/v1/observe", {Scope::vendor}, false, &observe, kVendorBodyBytesMax},
    Endpoint{"GET", "/v1/vendors/{id}", {Scope::vendor, Scope::admin}, false, &inspect}};

}  // namespace

std::span<const Endpoint> vendor_endpoints() {
  return kEndpoints;
}

}  // namespace dripgate::server
