// See the header. SipHash by Aumasson and Bernstein, one round per word and three at the end.
#include "base/keyed_hash.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <openssl/rand.h>

namespace dripgate {
namespace {

class SipState {
 public:
  explicit SipState(const HashKey& key)
      : v0_(key.first ^ 0x736f6d6570736575),
        v1_(key.second ^ 0x646f72616e646f6d),
        v2_(key.first ^ 0x6c7967656e657261),
        v3_(key.second ^ 0x7465646279746573) {}

  void word(std::uint64_t m) {
    v3_ ^= m;
    round();
    v0_ ^= m;
  }
  std::uint64_t finish() {
    v2_ ^= 0xff;
    round();
    round();
    round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32) + v3_;
    v2_ += v1_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace

HashKey random_hash_key() {
  HashKey key;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&key), sizeof(key)) == 1) return key;
  std::fputs("dripgate: the operating system gives no random numbers\n", stderr);
  std::abort();  // a guessable key would let a client choose whose counter it shares
}

std::uint64_t keyed_hash(const HashKey& key, std::string_view bytes) {
  SipState state(key);
  const char* at = bytes.data();
  const char* const whole_words_end = at + bytes.size() / 8 * 8;
  for (; at != whole_words_end; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    state.word(word);
  }
  std::uint64_t last = bytes.size() << 56;
  for (std::size_t i = 0; i < bytes.size() % 8; ++i)
    last |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
  state.word(last);
  return state.finish();
}

}  // namespace dripgate
