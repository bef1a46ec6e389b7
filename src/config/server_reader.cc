// Server reader: see server_reader.h.
#include "config/server_reader.h"

#include <algorithm>
#include <array>

#include "config/endpoint.h"
#include "config/fields.h"
#include "config/identity.h"
#include "config/paths.h"
#include "config/scalars.h"
#include "config/secret_reader.h"

namespace dripgate::config {
namespace {

constexpr std::size_t kTokensMax = 1'000;
constexpr std::int64_t kIngestRateMax = 10'000'000;

constexpr std::size_t kTrustedProxiesMax = 1'000;
constexpr std::size_t kHeaderBytesShownMax = 128;

constexpr std::array<std::string_view, 8> kServerKeys{
    "listen", "tokens", "tls", "ingestRate", "trustedProxies", "forwardAuth", "headers", "rls"};
constexpr std::array<std::string_view, 1> kForwardAuthKeys{"attributes"};
constexpr std::array<std::string_view, 1> kRlsKeys{"listen"};
constexpr std::array kHeaderSets{Word{"standard", false}, Word{"legacy", true}};
constexpr std::array<std::string_view, 3> kTokenKeys{"file", "env", "scopes"};
constexpr std::array<std::string_view, 3> kTlsKeys{"cert", "key", "clientCa"};
constexpr std::array kScopes{Word{"check", Scope::check}, Word{"ingest", Scope::ingest},
                             Word{"consume", Scope::consume}, Word{"vendor", Scope::vendor},
                             Word{"admin", Scope::admin}};
constexpr std::string_view kScopeWords = "accepted: a list of check, ingest, consume, vendor, admin";

std::vector<Scope> read_scopes(const Node& node, Context& context) {
  std::vector<Scope> scopes;
  for (const Node& item : list_items(node, "scopes", kScopes.size(), context.report)) {
    const auto scope = read_word(item, "scope", kScopes, context.report);
    if (scope && std::ranges::find(scopes, *scope) == scopes.end()) scopes.push_back(*scope);
  }
  return scopes;
}

// Someone who writes the token itself needs to hear where it belongs, not that the key is unknown.
bool is_literal(const Node& item, Report& report) {
  constexpr std::array<std::string_view, 5> kLiteralKeys{"token", "secret", "value", "password", "bearer"};
  if (item.kind == Node::Kind::scalar) {
    report.error(item.at, "token: " + std::string(kSecretForms));
    return true;
  }
  for (std::size_t i = 0; i < item.keys.size(); ++i) {
    if (std::ranges::find(kLiteralKeys, item.keys[i].text) == kLiteralKeys.end()) continue;
    report.error(item.keys[i].at, "token: " + std::string(kSecretForms));
    return true;
  }
  return false;
}

std::vector<Token> read_tokens(const Node& node, Context& context) {
  std::vector<Token> tokens;
  std::size_t number = 0;
  for (const Node& item : list_items(node, "tokens", kTokensMax, context.report)) {
    ++number;
    if (is_literal(item, context.report)) continue;
    const Fields fields(item, "token " + std::to_string(number), kTokenKeys, context.report);
    if (!fields.is_map()) continue;
    Token token{read_secret(fields, context), {}};
    if (const Node* scopes = fields.require("scopes", kScopeWords)) {
      token.scopes = read_scopes(*scopes, context);
    }
    if (!token.secret.empty() && std::ranges::find(tokens, token.secret, &Token::secret) != tokens.end()) {
      context.report.error(item.at, "token " + std::to_string(number) + " has the secret of an earlier one");
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::optional<Tls> read_tls(const Node& node, Context& context) {
  const Fields fields(node, "tls", kTlsKeys, context.report);
  if (!fields.is_map()) return std::nullopt;
  Tls tls;
  if (const Node* cert = fields.require("cert", "accepted: the path of a PEM file")) {
    tls.cert_file = read_pem_path(*cert, "cert", context);
  }
  if (const Node* key = fields.require("key", "accepted: the path of a PEM file")) {
    tls.key_file = read_pem_path(*key, "key", context);
  }
  if (const Node* ca = fields.find("clientCa")) tls.client_ca_file = read_pem_path(*ca, "clientCa", context);
  return tls;
}

std::vector<IpNetwork> read_networks(const Node& node, Context& context) {
  std::vector<IpNetwork> networks;
  if (node.kind == Node::Kind::list && node.items.empty()) return networks;  // nobody, said explicitly
  for (const Node& item : list_items(node, "trustedProxies", kTrustedProxiesMax, context.report)) {
    const auto text = read_text(item, "trusted proxy", kHeaderBytesShownMax, context.report);
    if (!text) continue;
    if (const auto network = IpNetwork::parse(*text)) {
      networks.push_back(*network);
    } else {
      context.report.error(item.at, network.error().detail);
    }
  }
  return networks;
}

// "header:x-plan"; empty: reported.
std::string read_header_source(const Node& node, const std::string& what, Context& context) {
  constexpr std::string_view kPrefix = "header:";
  const auto text = read_text(node, what, kHeaderBytesShownMax, context.report);
  if (!text) return {};
  const std::string name = text->starts_with(kPrefix) ? text->substr(kPrefix.size()) : std::string();
  const auto token = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (!name.empty() && std::ranges::all_of(name, token)) return name;
  context.report.error(node.at,
                       what + " is " + in_quotes(*text) + "; accepted: header:NAME, such as header:x-plan");
  return {};
}

// Facts of every forwarded request, whatever its headers say.
constexpr std::array<std::string_view, 5> kOwnFacts{"ip", "method", "path", "host", "route"};

std::vector<HeaderAttribute> read_attributes(const Node& node, Context& context) {
  std::vector<HeaderAttribute> attributes;
  if (node.kind != Node::Kind::map || node.keys.empty()) {
    context.report.error(node.at,
                         "attributes must be a mapping of names to headers, such as { plan: "
                         "\"header:x-plan\" }");
    return attributes;
  }
  Unique names("attribute", context.report);
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const Node name{.kind = Node::Kind::scalar, .at = node.keys[i].at, .text = node.keys[i].text};
    if (!read_name(name, "attribute", context.report) || !names.add(name.text, name.at)) continue;
    if (std::ranges::find(kOwnFacts, name.text) != kOwnFacts.end()) {
      context.report.error(name.at, "attribute " + in_quotes(name.text) +
                                        " is the request's own; accepted: any name but ip, method, path, "
                                        "host, route");
    }
    attributes.push_back({name.text, read_header_source(node.items[i], "attribute " + name.text, context)});
  }
  return attributes;
}

void read_gate(const Fields& fields, Server& server, Context& context) {
  if (const Node* node = fields.find("trustedProxies"))
    server.trusted_proxies = read_networks(*node, context);
  if (const Node* node = fields.find("headers")) {
    server.legacy_headers = read_word(*node, "headers", kHeaderSets, context.report).value_or(false);
  }
  if (const Node* node = fields.find("forwardAuth")) {
    const Fields forward(*node, "forwardAuth", kForwardAuthKeys, context.report);
    const Node* attributes = forward.require("attributes", "such as { plan: \"header:x-plan\" }");
    if (attributes != nullptr) server.forward_auth_attributes = read_attributes(*attributes, context);
  }
}

// Beyond this machine nobody may be anonymous. `fields` are those of `server`; `at` and `what` name the
// address.
void check_exposure(const Fields& fields, const Server& server, const std::string& host, Mark at,
                    const std::string& what, Context& context) {
  if (is_loopback(host)) return;
  const bool mutual_tls = server.tls && server.tls->client_ca_file;
  const bool asked_for = fields.mentions("tokens");
  if (!mutual_tls && server.tokens.empty() && !asked_for) {
    context.report.error(at, what +
                                 " leaves loopback without tokens; accepted: 127.0.0.1, tokens: [...], or "
                                 "tls with clientCa");
  }
  if (!server.tls && !fields.mentions("tls")) {
    context.report.warning(at, what + " leaves loopback without tls: tokens and events travel in clear text");
  }
}

// After `listen`, `tokens` and `tls` of the server, which count here too.
void read_rls(const Fields& fields, Server& server, Context& context) {
  const Node* node = fields.find("rls");
  if (node == nullptr) return;
  const Fields rls(*node, "rls", kRlsKeys, context.report);
  const Node* listen = rls.require("listen", "accepted: host:port, such as 127.0.0.1:8081");
  const auto parsed = listen == nullptr ? std::nullopt : read_listen(*listen, context.report);
  if (!parsed) return;
  server.rls = Address{parsed->host, parsed->port};
  if (parsed->port != 0 && parsed->port == server.port && parsed->host == server.host) {
    context.report.error(listen->at, "rls listens on port " + std::to_string(server.port) +
                                         ", where server.listen is; accepted: another port");
  }
  check_exposure(fields, server, parsed->host, listen->at, "rls.listen", context);
}

}  // namespace

Server read_server(const Node& node, Context& context) {
  Server server;
  const Fields fields(node, "server", kServerKeys, context.report);
  if (!fields.is_map()) return server;
  if (const Node* listen = fields.find("listen")) {
    if (auto parsed = read_listen(*listen, context.report)) {
      server.host = parsed->host;
      server.port = parsed->port;
    }
  }
  if (const Node* tokens = fields.find("tokens")) server.tokens = read_tokens(*tokens, context);
  if (const Node* tls = fields.find("tls")) server.tls = read_tls(*tls, context);
  if (const Node* rate = fields.find("ingestRate")) {
    const auto value = read_integer(*rate, "ingestRate", {1, kIngestRateMax}, context.report);
    server.ingest_rate_max = value.value_or(1);
  }
  read_gate(fields, server, context);
  check_exposure(fields, server, server.host, fields.mark("listen"), "listen", context);
  read_rls(fields, server, context);
  return server;
}

}  // namespace dripgate::config
