// TokenSigner: an issuer of identity tokens for tests: an RSA key of its own, its key set, tokens of any
// content, right or wrong.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"

struct evp_pkey_st;

namespace dripgate::testing {

struct TokenClaims {
  std::string issuer = "https://accounts.google.com";
  std::string audience = "https://dispatch.example.com";
  std::string email = "tasks@acme-payments.iam.gserviceaccount.com";
  std::string email_verified = "true";  // JSON; empty: absent
  WallTime issued;
  Duration life = std::chrono::hours{1};
};

[[nodiscard]] std::string to_base64url(std::string_view bytes);
/// The claims as the JSON of a token.
[[nodiscard]] std::string to_json(const TokenClaims& claims);

class TokenSigner {
 public:
  explicit TokenSigner(std::string key_id, int bits = 2048);

  [[nodiscard]] const std::string& key_id() const { return key_id_; }
  /// One key as a JSON Web Key; `algorithm` is what it says of itself.
  [[nodiscard]] std::string jwk(std::string_view algorithm = "RS256") const;
  /// {"keys":[...]} of this key alone.
  [[nodiscard]] std::string jwks() const;
  [[nodiscard]] std::string public_pem() const;

  /// RS256.
  [[nodiscard]] std::string sign(const TokenClaims& claims) const;
  /// Header and claims as they are, signed with SHA-256 and this key whatever the header says.
  [[nodiscard]] std::string sign_raw(std::string_view header, std::string_view claims) const;
  [[nodiscard]] std::string header(std::string_view algorithm = "RS256") const;

 private:
  std::string key_id_;
  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace dripgate::testing
