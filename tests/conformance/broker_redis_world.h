// The broker on a real redis-server, in virtual time: for the behaviour lists and for what only Redis does.
#pragma once

#include <memory>
#include <string>

#include "broker/redis_streams/broker.h"
#include "broker_world.h"
#include "support/redis/redis_server.h"
#include "support/sim_redis_client.h"

namespace dripgate::testing {

/// One server for all tests of the program, emptied for each world; it follows the world's clock.
class RedisWorld final : public BrokerWorld {
 public:
  explicit RedisWorld(broker::redis_streams::Options options = {});

  std::unique_ptr<broker::Publisher> publisher(const std::string& topic) override;
  std::unique_ptr<broker::EventSource> source(const std::string& topic) override;
  std::unique_ptr<broker::Timer> timer(const std::string& stream) override;
  std::unique_ptr<broker::DeadLetters> dead_letters(const std::string& topic) override;
  /// Leases of what was out run out meanwhile.
  void restart() override;
  void run_for(Duration span) override;
  [[nodiscard]] bool tells_who_had_it() const override { return true; }

  /// Another process of this name on the same Redis. Ends with the world.
  [[nodiscard]] std::unique_ptr<broker::redis_streams::Broker> process(const std::string& consumer);
  [[nodiscard]] const RedisServer& server() const;
  [[nodiscard]] SimRedisClient& client() { return *client_; }

 private:
  void open();

  broker::redis_streams::Options options_;
  std::unique_ptr<SimRedisClient> client_;
  std::unique_ptr<broker::redis_streams::Broker> broker_;
};

}  // namespace dripgate::testing
