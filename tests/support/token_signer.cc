#include "support/token_signer.h"

#include <absl/strings/escaping.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

namespace dripgate::testing {
namespace {

std::string number_of(EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key, name, &number);
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  BN_free(number);
  return to_base64url(bytes);
}

}  // namespace

std::string to_base64url(std::string_view bytes) {
  std::string text;
  absl::WebSafeBase64Escape({bytes.data(), bytes.size()}, &text);
  while (text.ends_with('=')) text.pop_back();
  return text;
}

std::string to_json(const TokenClaims& claims) {
  const auto seconds = [](WallTime time) {
    return std::to_string(std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
  };
  std::string json = R"({"iss":")" + claims.issuer + R"(","aud":")" + claims.audience +
                     R"(","sub":"1042","azp":"1042","email":")" + claims.email + R"(","iat":)" +
                     seconds(claims.issued) + R"(,"exp":)" + seconds(claims.issued + claims.life);
  if (!claims.email_verified.empty()) json += R"(,"email_verified":)" + claims.email_verified;
  return json + "}";
}

TokenSigner::TokenSigner(std::string key_id, int bits)
    : key_id_(std::move(key_id)), key_(EVP_RSA_gen(static_cast<unsigned>(bits)), EVP_PKEY_free) {}

std::string TokenSigner::jwk(std::string_view algorithm) const {
  return R"({"kty":"RSA","use":"sig","kid":")" + key_id_ + R"(","alg":")" + std::string(algorithm) +
         R"(","n":")" + number_of(key_.get(), OSSL_PKEY_PARAM_RSA_N) + R"(","e":")" +
         number_of(key_.get(), OSSL_PKEY_PARAM_RSA_E) + R"("})";
}

std::string TokenSigner::jwks() const {
  return R"({"keys":[)" + jwk() + "]}";
}

std::string TokenSigner::public_pem() const {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_PUBKEY(out.get(), key_.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string TokenSigner::header(std::string_view algorithm) const {
  return R"({"alg":")" + std::string(algorithm) + R"(","typ":"JWT","kid":")" + key_id_ + R"("})";
}

std::string TokenSigner::sign(const TokenClaims& claims) const {
  return sign_raw(header(), to_json(claims));
}

std::string TokenSigner::sign_raw(std::string_view head, std::string_view claims) const {
  const std::string text = to_base64url(head) + "." + to_base64url(claims);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get());
  std::string signature(static_cast<std::size_t>(EVP_PKEY_get_size(key_.get())), '\0');
  std::size_t size = signature.size();
  EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                 reinterpret_cast<const unsigned char*>(text.data()), text.size());
  signature.resize(size);
  return text + "." + to_base64url(signature);
}

}  // namespace dripgate::testing
