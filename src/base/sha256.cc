// See the header. OpenSSL looks an algorithm up by name on every one-shot call, three times the cost of the
// hash of a short text: the digest is fetched once, and each thread keeps one context.
#include "base/sha256.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <openssl/evp.h>

namespace dripgate {
namespace {

/// Without SHA-256 no key can be rendered and no event told from another: there is nothing to degrade to.
[[noreturn]] void unusable() {
  std::fputs("dripgate: OpenSSL on this machine offers no SHA-256\n", stderr);
  std::abort();
}

const EVP_MD* digest() {
  static const EVP_MD* const fetched =
      EVP_MD_fetch(nullptr, "SHA256", nullptr);  // lives as long as the process
  return fetched;
}

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

Sha256 sha256(std::string_view bytes) {
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  Sha256 out{};
  unsigned size = 0;
  if (!context || digest() == nullptr || EVP_DigestInit_ex2(context.get(), digest(), nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), out.data(), &size) != 1 || size != out.size())
    unusable();
  return out;
}

std::string sha256_hex(std::string_view bytes, std::size_t digits) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto digest = sha256(bytes);
  std::string hex(std::min(digits, digest.size() * 2), '\0');
  for (std::size_t i = 0; i < hex.size(); ++i)
    hex[i] = kDigits[i % 2 == 0 ? digest[i / 2] >> 4 : digest[i / 2] & 15];
  return hex;
}

std::uint64_t digest64(std::string_view bytes) {
  const Sha256 full = sha256(bytes);
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < sizeof(first); ++i) first = first << 8 | full[i];
  return first;
}

}  // namespace dripgate
