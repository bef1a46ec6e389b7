// Gcp reader: see gcp_reader.h.
#include "config/gcp_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "config/endpoint.h"
#include "config/fields.h"
#include "config/scalars.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

constexpr std::array<std::string_view, 4> kGcpKeys{"project", "pubsub", "cloudTasks", "tokens"};
constexpr std::array<std::string_view, 2> kTokenKeys{"issuer", "keys"};
constexpr std::array<std::string_view, 2> kEndpointKeys{"endpoint", "plaintext"};
constexpr std::size_t kProjectBytesMin = 3;
constexpr std::size_t kProjectBytesMax = 63;
constexpr std::uint16_t kTlsPort = 443;
constexpr std::size_t kIssuerBytesMax = 512;
/// As every client of Pub/Sub takes it.
constexpr const char* kPubsubEmulator = "PUBSUB_EMULATOR_HOST";

// Letters, digits and hyphens; "example.com:project" is the form of old domain-scoped ones.
bool is_project(std::string_view id) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == ':' || c == '.';
  };
  return id.size() >= kProjectBytesMin && id.size() <= kProjectBytesMax && std::ranges::all_of(id, fits);
}

std::string joined_host_port(const HostPort& at) {
  const bool bracketed = at.host.find(':') != std::string::npos;
  return (bracketed ? '[' + at.host + ']' : at.host) + ':' + std::to_string(at.port);
}

void read_endpoint(const Node& node, std::string_view what, GcpEndpoint& endpoint, Context& context) {
  const Fields fields(node, std::string(what), kEndpointKeys, context.report);
  if (!fields.is_map()) return;
  if (const Node* at = fields.find("endpoint")) {
    if (const auto target = read_node(*at, "endpoint", kTlsPort, context.report))
      endpoint.target = joined_host_port(*target);
  }
  if (const Node* plaintext = fields.find("plaintext"))
    endpoint.plaintext = read_flag(*plaintext, "plaintext", context.report).value_or(false);
}

// Of an emulator; Google's own need not be said.
void read_tokens(const Node& node, Gcp& gcp, Context& context) {
  const Fields fields(node, "gcp.tokens", kTokenKeys, context.report);
  if (!fields.is_map()) return;
  if (const Node* issuer = fields.require("issuer", "such as issuer: \"http://127.0.0.1:8980\""))
    gcp.token_issuer = read_text(*issuer, "issuer", kIssuerBytesMax, context.report).value_or("");
  if (const Node* keys = fields.require("keys", "such as keys: \"http://127.0.0.1:8980/jwks\""))
    gcp.token_keys = read_url(*keys, "keys", context.report);
}

// Some set it as a URL.
void take_emulator(Gcp& gcp, const Context& context) {
  const auto set = context.environment ? context.environment(kPubsubEmulator) : std::nullopt;
  if (!set || set->empty()) return;
  std::string target = *set;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.starts_with(scheme)) target.erase(0, scheme.size());
  }
  while (target.ends_with('/')) target.pop_back();
  gcp.pubsub = {.target = std::move(target), .plaintext = true};
}

}  // namespace

Gcp read_gcp(const Node& node, Context& context) {
  Gcp gcp;
  const Fields fields(node, "gcp", kGcpKeys, context.report);
  if (!fields.is_map()) return gcp;
  if (const Node* project = fields.require("project", "such as project: acme-payments")) {
    if (project->kind == Node::Kind::scalar && is_project(project->text)) {
      gcp.project = project->text;
    } else {
      context.report.error(project->at, "project is " + in_quotes(project->text) +
                                            "; accepted: the id of a project, 3 to 63 lower-case letters, "
                                            "digits and hyphens");
    }
  }
  if (const Node* pubsub = fields.find("pubsub")) read_endpoint(*pubsub, "gcp.pubsub", gcp.pubsub, context);
  if (const Node* tasks = fields.find("cloudTasks"))
    read_endpoint(*tasks, "gcp.cloudTasks", gcp.cloud_tasks, context);
  if (const Node* tokens = fields.find("tokens")) read_tokens(*tokens, gcp, context);
  take_emulator(gcp, context);
  return gcp;
}

}  // namespace dripgate::config
