#include "redis/script.h"

#include <openssl/evp.h>

namespace dripgate::redis {

Script::Script(std::string_view text) : text_(text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr);
  static constexpr char kHex[] = "0123456789abcdef";
  for (unsigned int i = 0; i < size; ++i) {
    sha1_ += kHex[digest[i] >> 4];
    sha1_ += kHex[digest[i] & 15];
  }
}

}  // namespace dripgate::redis
