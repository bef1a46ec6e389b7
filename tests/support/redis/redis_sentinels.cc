#include "support/redis/redis_sentinels.h"

#include <algorithm>
#include <stdexcept>

namespace dripgate::testing {
namespace {

// "name\nvalue\n" of SENTINEL MASTER.
bool says(RedisServer& sentinel, const std::string& field, std::size_t value) {
  return sentinel.ask({"SENTINEL", "MASTER", RedisSentinels::kMaster})
             .find(field + "\n" + std::to_string(value) + "\n") != std::string::npos;
}

}  // namespace

RedisSentinels::RedisSentinels(std::size_t replicas, std::size_t sentinels, const RedisOptions& options,
                               std::chrono::milliseconds down_after) {
  nodes_.push_back(std::make_unique<RedisServer>(options));
  const std::string port = std::to_string(nodes_[0]->port());
  for (std::size_t i = 0; i < replicas; ++i) {
    RedisOptions replica = options;
    replica.lines.push_back("replicaof 127.0.0.1 " + port);
    nodes_.push_back(std::make_unique<RedisServer>(replica));
  }
  const auto in_sync = [&] {
    const std::string seen = nodes_[0]->ask({"INFO", "replication"});
    std::size_t online = 0;
    for (std::size_t at = seen.find("state=online"); at != std::string::npos;
         at = seen.find("state=online", at + 1))
      ++online;
    return online == replicas;
  };
  if (!eventually(in_sync)) throw std::runtime_error("replicas do not sync: " + nodes_.back()->log());
  const std::string name = kMaster, quorum = std::to_string(sentinels / 2 + 1);
  const RedisOptions one{
      .lines = {"sentinel monitor " + name + " 127.0.0.1 " + port + " " + quorum,
                "sentinel down-after-milliseconds " + name + " " + std::to_string(down_after.count()),
                "sentinel failover-timeout " + name + " 5000"},
      .sentinel = true};
  for (std::size_t i = 0; i < sentinels; ++i) sentinels_.push_back(std::make_unique<RedisServer>(one));
  const auto all_known = [&] {
    return std::ranges::all_of(sentinels_, [&](const auto& one) {
      return says(*one, "num-other-sentinels", sentinels - 1) && says(*one, "num-slaves", replicas);
    });
  };
  if (!eventually(all_known)) throw std::runtime_error("the Sentinels do not meet: " + sentinels_[0]->log());
}

std::string RedisSentinels::primary_port() const {
  const std::string address = sentinels_[0]->ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", kMaster});
  return address.substr(address.find('\n') + 1);
}

}  // namespace dripgate::testing
