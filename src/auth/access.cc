// Access decisions. The server's handler and its head check call it, from any thread.
#include "auth/access.h"

#include <openssl/crypto.h>

#include "base/sha256.h"

namespace dripgate::auth {

namespace {

constexpr std::array<std::string_view, 5> kScopeNames{"check", "ingest", "consume", "vendor", "admin"};

bool same_letters(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

// "localhost:8080" -> "localhost", "[::1]:8080" -> "::1".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('['))
    return host.substr(1, host.find(']') == host.npos ? host.npos : host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool loopback_name(std::string_view host) {
  if (same_letters(host, "localhost") || host == "::1") return true;
  if (!host.starts_with("127.")) return false;
  return host.find_first_not_of("0123456789.") == std::string_view::npos;  // not 127.evil.example
}

AccessAnswer refuse(AccessAnswer::Verdict verdict, std::string detail) {
  return {.verdict = verdict, .detail = std::move(detail), .identity = {}};
}

AccessAnswer grant(std::string identity) {
  return {.verdict = AccessAnswer::Verdict::granted, .detail = {}, .identity = std::move(identity)};
}

}  // namespace

std::string_view bearer_token(std::string_view authorization) {
  static constexpr std::string_view kBearer = "bearer ";
  if (!same_letters(authorization.substr(0, kBearer.size()), kBearer)) return {};
  authorization.remove_prefix(kBearer.size());
  const auto first = authorization.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view{} : authorization.substr(first);
}

std::string to_string(ScopeSet scopes) {
  std::string out;
  for (std::size_t i = 0; i < kScopeNames.size(); ++i) {
    if (!scopes.has_any({static_cast<Scope>(i)})) continue;
    if (!out.empty()) out += " or ";
    out += kScopeNames[i];
  }
  return out;
}

Access::Access(const config::Server& server) : listen_host_(server.host) {
  mtls_ = server.tls && server.tls->client_ca_file;
  for (const config::Token& token : server.tokens) {
    Entry entry{
        .digest = sha256(token.secret), .scopes = {}, .identity = "token:" + sha256_hex(token.secret, 8)};
    for (const Scope scope : token.scopes) entry.scopes.add(scope);
    entries_.push_back(std::move(entry));
  }
}

AccessAnswer Access::decide(const Caller& caller, ScopeSet accepted) const {
  if (!caller.client_certificate.empty()) return grant("cert:" + std::string(caller.client_certificate));
  if (!entries_.empty()) return decide_bearer(caller, accepted);
  if (mtls_) return refuse(AccessAnswer::Verdict::unauthenticated, "a client certificate is needed");
  return decide_loopback(caller);
}

AccessAnswer Access::decide_bearer(const Caller& caller, ScopeSet accepted) const {
  const std::string_view token = bearer_token(caller.authorization);
  if (token.empty()) {
    return refuse(AccessAnswer::Verdict::unauthenticated, "accepted: Authorization: Bearer <token>");
  }
  // Every entry is compared, whatever the first ones gave: time tells nothing about which one is near.
  const Sha256 presented = sha256(token);
  const Entry* match = nullptr;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.digest.data(), presented.data(), presented.size()) == 0) match = &entry;
  }
  if (match == nullptr)
    return refuse(AccessAnswer::Verdict::unauthenticated, "the bearer token is not known");
  if (match->scopes.has_any(accepted)) return grant(match->identity);
  return refuse(AccessAnswer::Verdict::forbidden, "the token lacks the scope " + to_string(accepted));
}

// Without credentials, being on this machine is the credential. A web page of another site runs on this
// machine too, in its user's browser: its name for us (DNS rebinding) and its Origin tell it apart.
AccessAnswer Access::decide_loopback(const Caller& caller) const {
  if (!caller.loopback) {
    return refuse(AccessAnswer::Verdict::forbidden, "no tokens are configured: only this machine is served");
  }
  const auto ours = [&](std::string_view authority) {
    const std::string_view host = without_port(authority);
    return loopback_name(host) || same_letters(host, listen_host_);
  };
  if (!caller.host.empty() && !ours(caller.host)) {
    return refuse(
        AccessAnswer::Verdict::forbidden,
        "Host '" + std::string(caller.host) + "' is not this server; accepted: localhost, " + listen_host_);
  }
  if (!caller.origin.empty()) {
    const auto scheme = caller.origin.find("://");
    if (scheme == std::string_view::npos || !ours(caller.origin.substr(scheme + 3))) {
      return refuse(AccessAnswer::Verdict::forbidden, "pages of other sites are not served");
    }
  }
  return grant("loopback");
}

}  // namespace dripgate::auth
