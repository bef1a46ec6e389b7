// Identity tokens (OpenID Connect): does this JWT name the account that may come in here? RS256 only, by the
// public keys of the issuer (a JSON Web Key Set). What the token says of its own key or algorithm selects
// nothing but one of those keys. Pure: the keys and `now` are arguments. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

struct evp_pkey_st;  // of OpenSSL

namespace dripgate::auth {

using namespace std::chrono_literals;

/// How far the issuer's clock and ours may be apart.
inline constexpr Duration kTokenSkew = 60s;
/// From iat to exp; issuers give an hour.
inline constexpr Duration kTokenLifeMax = std::chrono::hours{24};
inline constexpr std::size_t kTokenBytesMax = 8u << 10;
inline constexpr std::size_t kTokenKeysMax = 64;  // of one key set; more are not read
inline constexpr int kTokenKeyBitsMin = 2048;     // a shorter key is not taken

/// Why a token is refused. Up to expired: who sends it is not known (401); from audience on: known, and not
/// welcome (403).
enum class TokenFault : std::uint8_t {
  none,
  no_keys,  // the issuer's keys are not here (yet): nothing can be said
  missing,
  malformed,
  algorithm,
  unknown_key,
  signature,
  issuer,
  not_yet_valid,
  expired,
  audience,
  account,
};
[[nodiscard]] std::string_view to_string(TokenFault fault);
[[nodiscard]] constexpr bool is_forbidden(TokenFault fault) {
  return fault >= TokenFault::audience;
}

struct TokenAnswer {
  TokenFault fault = TokenFault::none;
  std::string detail;  // refused: one sentence, without the token
};

/// Whom a door lets in.
struct TokenRules {
  std::string issuer;    // "https://accounts.google.com"; the same without its scheme is taken too
  std::string audience;  // exactly
  std::string email;     // of the account, which the issuer must have verified
};

/// The RSA keys of one JSON Web Key Set, by key id. Immutable.
class TokenKeys {
 public:
  /// Keys of other kinds and uses, and those too short, are left out; what a key says of `alg` does not
  /// count. Errors: invalid_argument: no key set, or none of its keys can be used.
  [[nodiscard]] static Result<std::shared_ptr<const TokenKeys>> parse(std::string_view jwks);

  /// Null: no such key.
  [[nodiscard]] evp_pkey_st* find(std::string_view key_id) const;
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  std::map<std::string, std::shared_ptr<evp_pkey_st>, std::less<>> keys_;
};

/// `keys` null: no_keys.
[[nodiscard]] TokenAnswer check_token(std::string_view token, const TokenKeys* keys, const TokenRules& rules,
                                      WallTime now);

}  // namespace dripgate::auth
