// RedisEngine: streams on Redis, shared with any number of other processes. Every answer is durable when it
// arrives, so nothing waits for a turn; while Redis is away the pipelines stop pulling by themselves.
#pragma once

#include <memory>
#include <string>

#include "app/config_topic.h"
#include "app/engine.h"
#include "app/gcp_ports.h"
#include "app/redis_watch.h"
#include "broker/redis_streams/broker.h"
#include "redis/client.h"
#include "redis/subscriber.h"

namespace dripgate::app {

class RedisEngine final : public Engine {
 public:
  using Engine::Engine;
  ~RedisEngine() override;

  /// Connects in the background. Errors: invalid_argument (what the config says, TLS files).
  Result<void> open() override;
  void start() override;
  void when_durable(std::move_only_function<void(Result<void>)> then) override { then({}); }
  void report_config(const server::ConfigState& config) override;
  void shutdown(Duration wait, Task done) override;
  [[nodiscard]] store::BookingStore& bookings() override { return *bookings_; }

 private:
  void topic_refused(const Error& error);
  Result<void> listen(const config::RedisStore& store);
  [[nodiscard]] LinePorts ports_of(const config::StreamSettings& settings);
  [[nodiscard]] std::unique_ptr<broker::Claims> claims_of(const config::StreamSettings& settings);

  std::string instance_;
  std::unique_ptr<redis::Client> client_;
  std::unique_ptr<broker::redis_streams::Broker> broker_;
  std::unique_ptr<GcpPorts> gcp_;  // null: all topics are on Redis
  std::unique_ptr<store::BookingStore> bookings_;
  std::unique_ptr<ConfigTopic> config_topic_;
  bool topic_refused_ = false;                     // and logged
  std::unique_ptr<redis::Subscriber> subscriber_;  // after what it calls
  std::unique_ptr<RedisWatch> watch_;
};

}  // namespace dripgate::app
