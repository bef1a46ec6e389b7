// A real Redis Cluster of a test: every primary with its replicas, slots spread evenly, all on 127.0.0.1.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "support/redis/redis_server.h"

namespace dripgate::testing {

class RedisCluster {
 public:
  static constexpr std::size_t kSlots = 16384;

  /// Returns when every node calls the cluster ok and every replica is in sync: some seconds. A primary that
  /// dies is replaced after about `node_timeout`; with a steered clock in `options` nobody is ever replaced,
  /// since that clock jumps. Set the clock only afterwards.
  explicit RedisCluster(std::size_t primaries, std::size_t replicas_each = 0,
                        const RedisOptions& options = {},
                        std::chrono::milliseconds node_timeout = std::chrono::milliseconds{1000});

  /// The primaries first, as they were at the start, then the replicas of the first, of the second, ...
  [[nodiscard]] RedisServer& node(std::size_t index) { return *nodes_[index]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] std::size_t primaries() const { return primaries_; }
  /// The primary that had the slot at the start.
  [[nodiscard]] std::size_t first_owner(std::size_t slot) const;
  [[nodiscard]] std::string id_of(std::size_t index) const { return nodes_[index]->ask({"CLUSTER", "MYID"}); }

 private:
  void assign_slots();
  void introduce();
  void attach_replicas(std::size_t replicas_each);
  [[nodiscard]] bool all_say(const std::vector<std::string>& question, const std::string& answer) const;

  std::size_t primaries_;
  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

}  // namespace dripgate::testing
