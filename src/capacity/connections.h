// Connections: so many clients of one Redis, each with a counter store of its own, as so many instances would
// have. On the bench's loop.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "net/io_loop.h"
#include "redis/client.h"
#include "redis/options.h"
#include "store/redis/stores.h"

namespace dripgate::capacity {

class Connections {
 public:
  /// Returns when a primary answers on each. Errors: as a redis::Client's, in its words.
  static Result<Connections> open(net::IoLoop& loop, const redis::Options& options,
                                  const store::RedisStoreOptions& store, std::size_t count);

  [[nodiscard]] std::size_t size() const { return sites_.size(); }
  [[nodiscard]] store::CounterStore& store(std::size_t index) { return *sites_[index].store; }
  [[nodiscard]] redis::Client& client(std::size_t index = 0) { return *sites_[index].client; }

 private:
  struct Site {
    std::unique_ptr<redis::Client> client;
    std::unique_ptr<store::CounterStore> store;  // ends before its client
  };
  std::vector<Site> sites_;
};

}  // namespace dripgate::capacity
