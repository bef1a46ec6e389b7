#include "server/forwarded.h"

#include <algorithm>
#include <optional>

#include <absl/container/inlined_vector.h>

#include "base/small_letters.h"
#include "check/client_address.h"
#include "check/route.h"
#include "http/problem.h"
#include "server/check_text.h"

namespace dripgate::server {
namespace {

using Values = absl::InlinedVector<std::string_view, 4>;  // mostly one, or none

Values values_of(const http::Headers& headers, std::string_view name) {
  Values values;
  for (const auto& [key, value] : headers)
    if (key.size() == name.size() && http::same_name(key, name)) values.push_back(value);
  return values;
}

struct Pair {  // the two spellings of one fact
  std::string_view forwarded;
  std::string_view original;
};
constexpr Pair kMethod{"X-Forwarded-Method", "X-Original-Method"};
constexpr Pair kUri{"X-Forwarded-Uri", "X-Original-URI"};

std::string as_is(std::string_view value) {
  return std::string(value);
}

/// A gateway sets one of them and passes the other through as the client wrote it: only if both agree is
/// there one truth.
std::expected<std::string, http::Response> one_fact(const http::Headers& headers, const Pair& names,
                                                    std::string (*spelling)(std::string_view)) {
  Values values = values_of(headers, names.forwarded);
  for (const std::string_view value : values_of(headers, names.original)) values.push_back(value);
  // An empty one is a variable that the gateway does not have: it would match no policy.
  if (std::ranges::all_of(values, [](std::string_view value) { return value.empty(); })) {
    return std::unexpected(http::problem(
        400, "bad-request",
        "the gateway says not which request it asks for; accepted: " + std::string(names.forwarded) + " or " +
            std::string(names.original)));
  }
  std::string fact = spelling(values.front());
  const bool agreed = std::all_of(values.begin() + 1, values.end(),
                                  [&](std::string_view other) { return spelling(other) == fact; });
  if (agreed) return fact;
  return std::unexpected(http::problem(403, "forbidden",
                                       std::string(names.forwarded) + " and " + std::string(names.original) +
                                           " contradict each other; the gateway must set or remove both"));
}

/// "Example.com:8443", "example.com." -> "example.com".
std::string host_name(std::string_view host) {
  std::string name(host.substr(0, host.starts_with('[') ? host.find(']') + 1 : host.find(':')));
  if (name.ends_with('.')) name.pop_back();
  return small_letters(name);
}

/// Of several headers of one name no one is believed: the fact is missing then, as where it is empty.
void add_single(core::Descriptor& facts, const std::string& name, const Values& values) {
  if (values.size() == 1 && !values.front().empty()) facts.emplace(name, values.front());
}

bool is_preflight(const http::Request& request, const std::string& method) {
  return method == "OPTIONS" && http::find(request.headers, "Origin") != nullptr &&
         http::find(request.headers, "Access-Control-Request-Method") != nullptr;
}

}  // namespace

bool is_trusted_proxy(const http::Peer& peer, const config::Server& server) {
  const auto address = parse_ip(peer.address);
  return address && contains(server.trusted_proxies, *address);
}

std::expected<Forwarded, http::Response> read_forwarded(const http::Request& request,
                                                        const config::Server& server) {
  if (!is_trusted_proxy(request.peer, server)) {
    return std::unexpected(http::problem(
        403, "forbidden", "the peer " + request.peer.address + " is not in server.trustedProxies"));
  }
  auto method = one_fact(request.headers, kMethod, &as_is);
  if (!method) return std::unexpected(std::move(method).error());
  auto path = one_fact(request.headers, kUri, &check::normal_path);
  if (!path) return std::unexpected(std::move(path).error());
  Forwarded forwarded;
  forwarded.preflight = is_preflight(request, *method);
  forwarded.request.refundable = false;  // the gateway has no use for an id
  core::Descriptor& facts = forwarded.request.descriptor;
  facts.emplace("method", *std::move(method));
  facts.emplace("path", *std::move(path));
  facts.emplace("ip",
                check::client_address(request.peer.address, values_of(request.headers, "X-Forwarded-For"),
                                      server.trusted_proxies));
  const Values hosts = values_of(request.headers, "X-Forwarded-Host");
  if (hosts.size() == 1 && !hosts.front().empty()) facts.emplace("host", host_name(hosts.front()));
  for (const config::HeaderAttribute& attribute : server.forward_auth_attributes)
    add_single(facts, attribute.name, values_of(request.headers, attribute.header));
  // A longer one counts as none: the request is charged. A gateway would show the client a refusal as its own
  // fault.
  const std::string_view key = http::value_of(request.headers, "Idempotency-Key");
  if (key.size() <= kIdempotencyKeyBytesMax) forwarded.request.idempotency_key = key;
  return forwarded;
}

}  // namespace dripgate::server
