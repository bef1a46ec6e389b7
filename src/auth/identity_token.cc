// Identity tokens: see identity_token.h.
#include "auth/identity_token.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <absl/strings/escaping.h>
#include <nlohmann/json.hpp>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

namespace dripgate::auth {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kAlgorithm = "RS256";
constexpr std::string_view kScheme = "https://";
/// Seconds since 1970 beyond which no token is read: far away, and safe to calculate with.
constexpr std::int64_t kSecondsMax = std::int64_t{1} << 40;
constexpr std::size_t kKeyPartBytesMax = 2u << 10;

constexpr std::array<std::string_view, 12> kFaults{"none",          "no_keys",     "missing",   "malformed",
                                                   "algorithm",     "unknown_key", "signature", "issuer",
                                                   "not_yet_valid", "expired",     "audience",  "account"};

TokenAnswer refuse(TokenFault fault, std::string detail) {
  return {fault, std::move(detail)};
}

// Base64 without padding; strict, so that a token has one spelling.
std::optional<std::string> decode(std::string_view text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string bytes;
  if (text.find_first_not_of(kAlphabet) != std::string_view::npos) return std::nullopt;
  if (!absl::WebSafeBase64Unescape({text.data(), text.size()}, &bytes)) return std::nullopt;
  return bytes;
}

std::optional<Json> decode_object(std::string_view text) {
  const auto bytes = decode(text);
  if (!bytes) return std::nullopt;
  Json json = Json::parse(*bytes, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

// Empty: it is absent or no text.
std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Empty: absent, no whole number, or none that is a time.
std::optional<std::int64_t> seconds_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(kSecondsMax))
    return std::nullopt;
  const auto seconds = found->get<std::int64_t>();
  return seconds >= 0 && seconds <= kSecondsMax ? std::optional(seconds) : std::nullopt;
}

template <class T, void (*Free)(T*)>
using Owned = std::unique_ptr<T, decltype([](T* object) { Free(object); })>;

std::shared_ptr<EVP_PKEY> make_key(std::string_view modulus, std::string_view exponent) {
  const Owned<BIGNUM, BN_free> n(BN_bin2bn(reinterpret_cast<const unsigned char*>(modulus.data()),
                                           static_cast<int>(modulus.size()), nullptr));
  const Owned<BIGNUM, BN_free> e(BN_bin2bn(reinterpret_cast<const unsigned char*>(exponent.data()),
                                           static_cast<int>(exponent.size()), nullptr));
  const Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> builder(OSSL_PARAM_BLD_new());
  if (!n || !e || !builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return nullptr;
  const Owned<OSSL_PARAM, OSSL_PARAM_free> params(OSSL_PARAM_BLD_to_param(builder.get()));
  const Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free> context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
    return nullptr;
  return {key, EVP_PKEY_free};
}

// Null: not one that we use.
std::shared_ptr<EVP_PKEY> read_key(const Json& jwk) {
  if (!jwk.is_object() || text_of(jwk, "kty") != "RSA") return nullptr;
  if (jwk.contains("use") && text_of(jwk, "use") != "sig") return nullptr;
  const auto modulus = decode(text_of(jwk, "n"));
  const auto exponent = decode(text_of(jwk, "e"));
  if (!modulus || !exponent || modulus->size() > kKeyPartBytesMax || exponent->empty() ||
      exponent->size() > kKeyPartBytesMax)
    return nullptr;
  auto key = make_key(*modulus, *exponent);
  return key && EVP_PKEY_get_bits(key.get()) >= kTokenKeyBitsMin ? key : nullptr;
}

bool signed_by(EVP_PKEY* key, std::string_view text, std::string_view signature) {
  const Owned<EVP_MD_CTX, EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  return context && EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                          text.size()) == 1;
}

struct Parts {
  std::string_view header;
  std::string_view claims;
  std::string_view signature;
  std::string_view signed_text;
};

std::optional<Parts> split(std::string_view token) {
  const auto first = token.find('.');
  const auto second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos)
    return std::nullopt;
  return Parts{token.substr(0, first), token.substr(first + 1, second - first - 1), token.substr(second + 1),
               token.substr(0, second)};
}

TokenAnswer check_signature(const Parts& parts, const TokenKeys& keys) {
  const auto header = decode_object(parts.header);
  if (!header) return refuse(TokenFault::malformed, "the token's header is no JSON object");
  if (text_of(*header, "alg") != kAlgorithm || header->contains("crit"))
    return refuse(TokenFault::algorithm, "the token is not signed with RS256; accepted: RS256 only");
  EVP_PKEY* key = keys.find(text_of(*header, "kid"));
  if (key == nullptr) return refuse(TokenFault::unknown_key, "the token's key is none of the issuer's");
  const auto signature = decode(parts.signature);
  if (!signature || !signed_by(key, parts.signed_text, *signature))
    return refuse(TokenFault::signature, "the token's signature does not fit");
  return {};
}

TokenAnswer check_times(const Json& claims, WallTime now) {
  const auto issued = seconds_of(claims, "iat");
  const auto ends = seconds_of(claims, "exp");
  if (!issued || !ends) return refuse(TokenFault::malformed, "the token lacks iat or exp");
  const std::int64_t today = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  const std::int64_t skew = kTokenSkew / 1s;
  const std::int64_t begins = std::max(*issued, seconds_of(claims, "nbf").value_or(0));
  if (begins > today + skew) return refuse(TokenFault::not_yet_valid, "the token is of a later time");
  if (*ends + skew <= today) return refuse(TokenFault::expired, "the token has expired");
  if (*ends - *issued > kTokenLifeMax / 1s)
    return refuse(TokenFault::expired, "the token is made for longer than a day");
  return {};
}

TokenAnswer check_names(const Json& claims, const TokenRules& rules) {
  if (text_of(claims, "aud") != rules.audience)
    return refuse(TokenFault::audience, "the token is for another audience; accepted: " + rules.audience);
  const auto verified = claims.find("email_verified");
  const bool is_verified = verified != claims.end() && verified->is_boolean() && verified->get<bool>();
  if (text_of(claims, "email") != rules.email || !is_verified)
    return refuse(TokenFault::account, "the token is of another account; accepted: " + rules.email);
  return {};
}

bool is_issuer(const std::string& issuer, std::string_view expected) {
  return !issuer.empty() &&
         (issuer == expected || (expected.starts_with(kScheme) && issuer == expected.substr(kScheme.size())));
}

}  // namespace

std::string_view to_string(TokenFault fault) {
  return kFaults[static_cast<std::size_t>(fault)];
}

Result<std::shared_ptr<const TokenKeys>> TokenKeys::parse(std::string_view jwks) {
  const Json json = Json::parse(jwks, nullptr, /*allow_exceptions=*/false);
  const auto list = json.is_object() ? json.find("keys") : json.end();
  if (!json.is_object() || list == json.end() || !list->is_array())
    return fail(ErrorCode::invalid_argument, "no key set: accepted: a JSON object with a list 'keys'", true);
  auto keys = std::make_shared<TokenKeys>();
  for (const Json& jwk : *list) {
    if (keys->keys_.size() >= kTokenKeysMax) break;
    if (auto key = read_key(jwk)) keys->keys_[text_of(jwk, "kid")] = std::move(key);
  }
  if (keys->keys_.empty())
    return fail(ErrorCode::invalid_argument,
                "the key set has no key that can be used; accepted: RSA of at least 2048 bits", true);
  return keys;
}

evp_pkey_st* TokenKeys::find(std::string_view key_id) const {
  const auto found = keys_.find(key_id);
  return found == keys_.end() ? nullptr : found->second.get();
}

TokenAnswer check_token(std::string_view token, const TokenKeys* keys, const TokenRules& rules,
                        WallTime now) {
  if (token.empty()) return refuse(TokenFault::missing, "accepted: Authorization: Bearer <identity token>");
  const auto parts = token.size() > kTokenBytesMax ? std::nullopt : split(token);
  if (!parts) return refuse(TokenFault::malformed, "the token is not of the form header.claims.signature");
  if (keys == nullptr) return refuse(TokenFault::no_keys, "the keys of the issuer could not be fetched yet");
  if (TokenAnswer answer = check_signature(*parts, *keys); answer.fault != TokenFault::none) return answer;
  const auto claims = decode_object(parts->claims);
  if (!claims) return refuse(TokenFault::malformed, "the token's claims are no JSON object");
  if (!is_issuer(text_of(*claims, "iss"), rules.issuer))
    return refuse(TokenFault::issuer, "the token is of another issuer; accepted: " + rules.issuer);
  if (TokenAnswer answer = check_times(*claims, now); answer.fault != TokenFault::none) return answer;
  return check_names(*claims, rules);
}

}  // namespace dripgate::auth
