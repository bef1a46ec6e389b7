// Instances: how many processes share the limits, by heartbeats in Redis. For the share of each while Redis
// is away (store/failover/local_counters.h). Not the instances of app/config_report, which are all processes,
// whatever they do. One per process, on its client's loop. Single-threaded.
#pragma once

#include <functional>
#include <string>

#include "base/guard.h"
#include "base/time.h"
#include "redis/client.h"

namespace dripgate::store {

inline constexpr Duration kHeartbeatEvery = std::chrono::seconds{1};
/// A process that has not been heard of for so long no longer counts.
inline constexpr Duration kHeartbeatLives = std::chrono::seconds{5};

class Instances {
 public:
  /// `counted`: every new count, this process included; it is not called while Redis is away, so that the
  /// last count stays. `client` and `executor` outlive this.
  Instances(redis::Client& client, Executor& executor, std::string key_prefix,
            std::function<void(int)> counted);

  /// The first heartbeat at once, then one every kHeartbeatEvery.
  void start();
  /// No more heartbeats; the others count one less at once. `done` runs when Redis has heard it or did not
  /// answer: then it is forgotten after kHeartbeatLives. Never if this is destroyed before.
  void stop(Task done);

  [[nodiscard]] const std::string& id() const { return id_; }

 private:
  void beat();
  void send(bool lives, std::function<void(Result<redis::Reply>)> heard);

  redis::Client& client_;
  Executor& executor_;
  std::string key_;
  std::string id_;  // no other process has it
  std::function<void(int)> counted_;
  bool running_ = false;
  Guard guard_;
};

}  // namespace dripgate::store
