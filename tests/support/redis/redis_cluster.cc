#include "support/redis/redis_cluster.h"

#include <algorithm>
#include <stdexcept>

namespace dripgate::testing {
namespace {

RedisOptions node_options(RedisOptions options, std::chrono::milliseconds node_timeout) {
  options.cluster = true;
  const std::string timeout =
      options.clock != nullptr ? "1000000000000" : std::to_string(node_timeout.count());
  options.lines.push_back("cluster-node-timeout " + timeout);
  if (options.clock != nullptr) options.lines.emplace_back("repl-timeout 2000000000");
  options.lines.emplace_back("cluster-replica-validity-factor 0");
  options.lines.emplace_back("repl-diskless-sync-delay 0");
  return options;
}

}  // namespace

RedisCluster::RedisCluster(std::size_t primaries, std::size_t replicas_each, const RedisOptions& options,
                           std::chrono::milliseconds node_timeout)
    : primaries_(primaries) {
  const RedisOptions each = node_options(options, node_timeout);
  for (std::size_t i = 0; i < primaries * (1 + replicas_each); ++i)
    nodes_.push_back(std::make_unique<RedisServer>(each));
  assign_slots();
  introduce();
  attach_replicas(replicas_each);
}

std::size_t RedisCluster::first_owner(std::size_t slot) const {
  std::size_t index = 0;
  while ((index + 1) * kSlots / primaries_ <= slot) ++index;
  return index;
}

void RedisCluster::assign_slots() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (i < primaries_) {
      const std::size_t first = i * kSlots / primaries_, last = (i + 1) * kSlots / primaries_ - 1;
      nodes_[i]->ask({"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
    }
    nodes_[i]->ask({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
  }
}

// Everybody meets everybody: waiting for gossip would take longer.
void RedisCluster::introduce() {
  for (const auto& node : nodes_) {
    for (const auto& other : nodes_) {
      if (node == other) continue;
      node->ask(
          {"CLUSTER", "MEET", "127.0.0.1", std::to_string(other->port()), std::to_string(other->bus_port())});
    }
  }
  const std::string known = "cluster_known_nodes:" + std::to_string(nodes_.size()) + "\r\n";
  const bool formed = eventually([&] {
    return all_say({"CLUSTER", "INFO"}, known) && all_say({"CLUSTER", "INFO"}, "cluster_state:ok") &&
           all_say({"CLUSTER", "INFO"}, "cluster_slots_ok:16384");
  });
  if (!formed) throw std::runtime_error("the cluster does not form: " + nodes_[0]->ask({"CLUSTER", "NODES"}));
}

void RedisCluster::attach_replicas(std::size_t replicas_each) {
  for (std::size_t i = primaries_; i < nodes_.size(); ++i) {
    const std::string primary = id_of((i - primaries_) / replicas_each);
    if (!eventually([&] { return nodes_[i]->ask({"CLUSTER", "REPLICATE", primary}) == "OK"; }))
      throw std::runtime_error("no replica: " + nodes_[i]->ask({"CLUSTER", "REPLICATE", primary}));
  }
  const bool in_sync = eventually([&] {
    for (std::size_t i = primaries_; i < nodes_.size(); ++i) {
      if (nodes_[i]->ask({"INFO", "replication"}).find("master_link_status:up") == std::string::npos)
        return false;
      // Its primary sends nothing before it has heard so.
      const auto& primary = nodes_[(i - primaries_) / replicas_each];
      if (primary->ask({"INFO", "replication"}).find("state=online") == std::string::npos) return false;
    }
    // Everybody knows who is a replica: a primary counts on it for the failover.
    return std::ranges::all_of(nodes_, [&](const auto& node) {
      const std::string seen = node->ask({"CLUSTER", "NODES"});
      std::size_t replicas = 0;
      for (std::size_t at = seen.find("slave "); at != std::string::npos; at = seen.find("slave ", at + 1))
        ++replicas;
      return replicas == nodes_.size() - primaries_;
    });
  });
  if (!in_sync) throw std::runtime_error("replicas do not sync: " + nodes_.back()->log());
}

bool RedisCluster::all_say(const std::vector<std::string>& question, const std::string& answer) const {
  return std::ranges::all_of(
      nodes_, [&](const auto& node) { return node->ask(question).find(answer) != std::string::npos; });
}

}  // namespace dripgate::testing
