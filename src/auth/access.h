// Access: may this caller use this route? Bearer tokens with scopes, client certificates, or loopback only.
// Pure and immutable; server rebuilds it when the config changes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "config/config.h"

namespace dripgate::auth {

using config::Scope;

/// A set of scopes as bits.
class ScopeSet {
 public:
  constexpr ScopeSet() = default;
  constexpr ScopeSet(std::initializer_list<Scope> scopes) {
    for (const Scope scope : scopes) add(scope);
  }
  static constexpr ScopeSet all() {
    return {Scope::check, Scope::ingest, Scope::consume, Scope::vendor, Scope::admin};
  }
  constexpr void add(Scope scope) { bits_ |= std::uint8_t(1u << unsigned(scope)); }
  [[nodiscard]] constexpr bool has_any(ScopeSet other) const { return (bits_ & other.bits_) != 0; }

 private:
  std::uint8_t bits_ = 0;
};

/// Of an Authorization header; empty: it is not "Bearer <token>".
[[nodiscard]] std::string_view bearer_token(std::string_view authorization);

/// "admin or consume": for a person.
[[nodiscard]] std::string to_string(ScopeSet scopes);

/// What a request says of its sender; views live as long as the call.
struct Caller {
  std::string_view authorization{};       // the header's value; empty: none
  std::string_view host{};                // the Host header
  std::string_view origin{};              // the Origin header; browsers send it
  bool loopback = false;                  // the peer's address
  std::string_view client_certificate{};  // verified subject; empty: none
};

struct AccessAnswer {
  enum class Verdict : std::uint8_t {
    granted,
    unauthenticated,  // 401: no credential, or an unknown one
    forbidden,        // 403: known, without the scope; or a browser page of another site
  };
  Verdict verdict = Verdict::granted;
  std::string detail;    // refused: one sentence
  std::string identity;  // granted: for the audit line ("token:1f2e3d4c", "cert:CN=ops", "loopback")
};

class Access {
 public:
  explicit Access(const config::Server& server);
  /// Any of `accepted` suffices.
  [[nodiscard]] AccessAnswer decide(const Caller& caller, ScopeSet accepted) const;

 private:
  struct Entry {
    Sha256 digest;  // SHA-256 of the secret: what is compared has one length, whatever was sent
    ScopeSet scopes;
    std::string identity;
  };
  [[nodiscard]] AccessAnswer decide_bearer(const Caller& caller, ScopeSet accepted) const;
  [[nodiscard]] AccessAnswer decide_loopback(const Caller& caller) const;

  std::vector<Entry> entries_;
  std::string listen_host_;
  bool mtls_ = false;
};

}  // namespace dripgate::auth
