// What a gateway or a service asks over HTTP: forwarded headers and bodies of check and refund as facts,
// routes, keys and answers. No spelling crashes, forges a key, makes an answer that is no JSON or finds a
// second budget.
//
// Input: "METHOD TARGET PEER", headers "Name: value" a line each, an empty line, the body.
#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "check/plan.h"
#include "check/route.h"
#include "fuzz/gate.h"
#include "render/gate_headers.h"
#include "server/check_text.h"
#include "server/forwarded.h"

namespace dripgate::fuzz {
namespace {

constexpr std::size_t kChecksAsked = 4;  // of a batch

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string take_word(std::string_view& line) {
  const std::size_t end = line.find(' ');
  std::string word(line.substr(0, end));
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

http::Request read_request(std::string_view text) {
  http::Request request;
  std::string_view first = take_line(text);
  request.method = take_word(first);
  request.target = take_word(first);
  request.peer.address = take_word(first);
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.empty()) break;
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos)
      request.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  request.body = text;
  return request;
}

bool is_key(const std::string& key) {
  const auto plain = [](char c) { return c > 0x20 && c < 0x7f; };
  return key.starts_with("rl:{") && std::ranges::count(key, '{') == 1 && std::ranges::count(key, '}') == 1 &&
         std::ranges::all_of(key, plain);
}

void require_one_spelling(const core::Descriptor& given) {
  core::Descriptor once = given;
  check::normalise(once);
  core::Descriptor twice = once;
  check::normalise(twice);
  require(once == twice, "what is normal stays as it is");
  const auto path = once.find("path");
  if (path == once.end()) return;
  require(path->second.starts_with('/'), "a normal path begins with a slash", path->second);
  for (const std::string& other : {"/." + path->second, "//" + path->second, path->second + "/",
                                   path->second + "/.", "/x/.." + path->second, path->second + "?x=1"})
    require(check::normal_path(other) == path->second, "a respelled path is the same path", other);
}

/// The same request over and over gets one budget.
void require_one_budget(Gate& gate, const check::Request& request) {
  if (request.cost < 1 || request.peek) return;
  int allowed = 0;
  for (int i = 0; i < kLimit + 2; ++i) {
    check::Request again = request;
    again.idempotency_key.clear();
    const auto answer = gate.ask(std::move(again));
    if (!answer) return;
    const auto counted = [](const check::PolicyAnswer& policy) {
      return policy.plan.role == check::Role::enforced;
    };
    if (!std::ranges::any_of(answer->policies, counted)) return;
    allowed += answer->allowed() ? 1 : 0;
  }
  require(allowed <= kLimit, "nobody gets more than the limit");
}

void require_answered(Gate& gate, const check::Request& request) {
  require_one_spelling(request.descriptor);
  for (const check::PlannedPolicy& planned : check::plan(*gate.config, request.descriptor))
    for (const std::string& key : planned.keys) require(is_key(key), "a counter key is ours", key);
  const auto answer = gate.ask(request);
  if (!answer)
    return require(answer.error().code == ErrorCode::invalid_argument, "only a wrong request fails");
  std::string text;
  server::append_decision(text, *answer, true);
  require(nlohmann::json::accept(text), "a decision is JSON", text);
  if (!answer->refund_id.empty()) {
    require(gate.give_back(answer->refund_id).value_or(false), "what was taken comes back");
    require(!gate.give_back(answer->refund_id).value_or(true), "once");
  }
  require_one_budget(gate, request);
}

void run(std::string_view input) {
  static Gate gate;
  gate.next_input();
  const http::Request request = read_request(input);
  const auto forwarded = server::read_forwarded(request, gate.config->server);
  if (!forwarded) {
    const int status = forwarded.error().status;
    require(status == 400 || status == 403, "a refusal is the caller's fault");
    require(nlohmann::json::accept(forwarded.error().body), "a problem is JSON", forwarded.error().body);
  } else {
    require(server::is_trusted_proxy(request.peer, gate.config->server), "strangers forward nothing");
    const std::string& ip = forwarded->request.descriptor.at("ip");
    require(ip == request.peer.address || parse_ip(ip), "a client's address is one", ip);
    require_answered(gate, forwarded->request);
  }
  const auto body = server::read_checks(request.body);
  if (!body) return;
  for (std::size_t i = 0; i < std::min(kChecksAsked, body->checks.size()); ++i)
    if (body->checks[i]) require_answered(gate, *body->checks[i]);
  require(!gate.give_back(request.body), "a made-up id is refused");
}

}  // namespace
}  // namespace dripgate::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dripgate::fuzz::run(dripgate::fuzz::text_of(data, size));
  return 0;
}
