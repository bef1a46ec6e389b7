#include "capacity/keys.h"

#include <algorithm>
#include <cstdio>

namespace dripgate::capacity {
namespace {

/// More than any key is asked, and full again after an hour: the time that a key is kept.
core::Limit bucket() {
  return {.algorithm = core::Algorithm::token_bucket,
          .limit = 5000,
          .window = std::chrono::hours{1},
          .capacity = 5000,
          .zone = nullptr};
}

}  // namespace

Keys::Keys(std::size_t count, const redis::Client& client) : homes_count_(client.shards()) {
  for (std::size_t i = 0; i < count; ++i) {
    char name[48];
    // The digits stand for the hash of an API key.
    std::snprintf(name, sizeof name, "rl:{t:%zu}:api:k:%016llx", i,
                  static_cast<unsigned long long>(i * 0x9e3779b97f4a7c15ull));
    keys_.emplace_back(name);
    homes_.push_back(std::min(client.shard(keys_.back()), homes_count_ - 1));
  }
}

store::Charges Keys::charges(std::size_t index) const {
  store::Charges charges;
  charges.push_back({.key = keys_[index], .limit = bucket()});
  return charges;
}

}  // namespace dripgate::capacity
