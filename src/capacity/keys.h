// Keys: the counters that a bench asks, token buckets in the real key format that admit every call of a bench
// and expire within an hour should nobody remove them. Each has a hash tag of its own, so that every check is
// a script call of its own and all primaries have their part.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "redis/client.h"
#include "store/counter_store.h"

namespace dripgate::capacity {

class Keys {
 public:
  /// `client` says which primary owns a key now.
  Keys(std::size_t count, const redis::Client& client);

  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  [[nodiscard]] const std::string& key(std::size_t index) const { return keys_[index]; }
  /// Which primary owned it at the start.
  [[nodiscard]] std::size_t home(std::size_t index) const { return homes_[index]; }
  [[nodiscard]] std::size_t homes() const { return homes_count_; }
  [[nodiscard]] store::Charges charges(std::size_t index) const;

 private:
  std::vector<std::string> keys_;
  std::vector<std::size_t> homes_;
  std::size_t homes_count_;
};

}  // namespace dripgate::capacity
