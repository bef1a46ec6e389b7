// ClusterClient: a Client of a Redis Cluster: calls go to the owner of their slot and follow what the nodes
// say (MOVED, ASK, TRYAGAIN). Inside of this room only.
#pragma once

#include <memory>

#include "redis/call.h"
#include "redis/client.h"
#include "redis/topology.h"

namespace dripgate::redis {

class ClusterClient final : public Client {
 public:
  /// The topology has been started.
  ClusterClient(net::IoLoop& loop, std::shared_ptr<Topology> topology, Duration timeout);
  ~ClusterClient() override;
  ClusterClient(const ClusterClient&) = delete;
  ClusterClient& operator=(const ClusterClient&) = delete;

  using Client::command;
  using Client::run;
  void command(std::string_view key, Words words, Duration timeout, Done<Reply> done) override;
  void run(const Script& script, Words keys, Words arguments, Duration timeout, Done<Reply> done) override;
  void each_primary(Words words, std::move_only_function<void(std::vector<NodeReply>)> done) override;
  [[nodiscard]] std::size_t shard(std::string_view key) const override;
  [[nodiscard]] std::size_t shards() const override;
  void when_writable(std::size_t shard, Task task) override;

 private:
  class Router;

  [[nodiscard]] MonoTime deadline(Duration timeout) const;

  net::IoLoop& loop_;
  std::shared_ptr<Topology> topology_;
  std::shared_ptr<Router> router_;
  Duration timeout_;
};

}  // namespace dripgate::redis
