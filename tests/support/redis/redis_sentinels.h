// A primary with replicas, watched by Sentinels, of a test: all on 127.0.0.1.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "support/redis/redis_server.h"

namespace dripgate::testing {

class RedisSentinels {
 public:
  static constexpr const char* kMaster = "mm";  // the name that the Sentinels know

  /// Returns when the replicas are in sync and every Sentinel knows all. A primary that dies is replaced
  /// after about `down_after` and an election. `options`: of the data nodes.
  explicit RedisSentinels(std::size_t replicas = 1, std::size_t sentinels = 3,
                          const RedisOptions& options = {},
                          std::chrono::milliseconds down_after = std::chrono::milliseconds{500});

  /// 0: the primary, as it was at the start; then the replicas.
  [[nodiscard]] RedisServer& node(std::size_t index) { return *nodes_[index]; }
  [[nodiscard]] RedisServer& sentinel(std::size_t index) { return *sentinels_[index]; }
  [[nodiscard]] std::size_t sentinels() const { return sentinels_.size(); }
  /// The primary's port as the first Sentinel says now.
  [[nodiscard]] std::string primary_port() const;

 private:
  std::vector<std::unique_ptr<RedisServer>> nodes_;
  std::vector<std::unique_ptr<RedisServer>> sentinels_;
};

}  // namespace dripgate::testing
