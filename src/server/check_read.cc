// What clients send to /v1/check.
#include <simdjson.h>

#include "server/check_text.h"

namespace dripgate::server {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

constexpr std::string_view kMembers = "accepted: attributes, cost, peek, idempotencyKey";

std::unexpected<Error> refuse(std::string detail) {
  return fail(ErrorCode::invalid_argument, std::move(detail));
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, kAttributesMax)) + "'";
}

Result<std::string> read_fact(std::string_view name, const element& value) {
  switch (value.type()) {
    case element_type::STRING:
      return std::string(std::string_view(value));
    case element_type::INT64:
      return std::to_string(std::int64_t(value));
    case element_type::UINT64:
      return std::to_string(std::uint64_t(value));
    case element_type::BOOL:
      return std::string(bool(value) ? "true" : "false");
    default:
      return refuse("attribute " + quoted(name) + ": accepted: text, a whole number, true, false");
  }
}

Result<core::Descriptor> read_attributes(const element& value) {
  if (value.type() != element_type::OBJECT)
    return refuse("attributes: accepted: an object, such as {\"plan\":\"free\"}");
  core::Descriptor facts;
  for (const auto [name, fact] : object(value)) {
    auto text = read_fact(name, fact);
    if (!text) return std::unexpected(std::move(text).error());
    if (!facts.emplace(name, *std::move(text)).second)
      return refuse("attribute " + quoted(name) + " is there twice");
    if (facts.size() > kAttributesMax)
      return refuse("attributes: accepted: at most " + std::to_string(kAttributesMax));
  }
  return facts;
}

Result<void> read_cost(const element& value, check::Request& request) {
  if (value.type() != element_type::INT64 || std::int64_t(value) < 0)
    return refuse("cost: accepted: a whole number, 0 or more");
  request.cost = std::int64_t(value);
  return {};
}

Result<void> read_key(const element& value, check::Request& request) {
  if (value.type() == element_type::STRING) request.idempotency_key = std::string_view(value);
  if (!request.idempotency_key.empty() && request.idempotency_key.size() <= kIdempotencyKeyBytesMax)
    return {};
  return refuse("idempotencyKey: accepted: text of 1 to " + std::to_string(kIdempotencyKeyBytesMax) +
                " bytes");
}

Result<void> read_member(std::string_view name, const element& value, check::Request& request) {
  if (name == "attributes") {
    auto facts = read_attributes(value);
    if (!facts) return std::unexpected(std::move(facts).error());
    request.descriptor = *std::move(facts);
    return {};
  }
  if (name == "cost") return read_cost(value, request);
  if (name == "idempotencyKey") return read_key(value, request);
  if (name != "peek") return refuse("unknown member " + quoted(name) + "; " + std::string(kMembers));
  if (value.type() != element_type::BOOL) return refuse("peek: accepted: true, false");
  request.peek = bool(value);
  return {};
}

Result<check::Request> read_check(const element& value) {
  if (value.type() != element_type::OBJECT) return refuse("a check is an object; " + std::string(kMembers));
  check::Request request;
  std::vector<std::string_view> seen;
  for (const auto [name, member] : object(value)) {
    if (std::ranges::find(seen, name) != seen.end())
      return refuse("member " + quoted(name) + " is there twice");
    seen.push_back(name);
    if (auto read = read_member(name, member, request); !read)
      return std::unexpected(std::move(read).error());
  }
  if (std::ranges::find(seen, "attributes") == seen.end()) return refuse("attributes are missing");
  return request;
}

Result<CheckBody> read_batch(const element& checks) {
  if (checks.type() != element_type::ARRAY) return refuse("checks: accepted: a list of checks");
  const simdjson::dom::array list(checks);
  if (list.size() == 0 || list.size() > kChecksPerRequestMax)
    return refuse("checks: accepted: 1 to " + std::to_string(kChecksPerRequestMax) + " of them");
  CheckBody body{.batch = true, .checks = {}};
  body.checks.reserve(list.size());
  for (const element one : list) body.checks.push_back(read_check(one));
  return body;
}

}  // namespace

Result<CheckBody> read_checks(std::string_view body) {
  if (body.size() > kCheckBodyBytesMax) {
    return fail(ErrorCode::too_large, "the body is over " + std::to_string(kCheckBodyBytesMax) + " bytes");
  }
  thread_local simdjson::dom::parser parser(kCheckBodyBytesMax);
  element root;
  if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS ||
      root.type() != element_type::OBJECT) {
    return refuse("the body is not a JSON object; " + std::string(kMembers) + ", or checks");
  }
  const object members(root);
  element checks;
  if (members.at_key("checks").get(checks) != simdjson::SUCCESS)
    return CheckBody{.batch = false, .checks = {read_check(root)}};
  if (members.size() != 1) return refuse("beside checks stands another member; accepted: checks alone");
  return read_batch(checks);
}

}  // namespace dripgate::server
