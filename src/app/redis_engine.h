// RedisEngine: streams on Redis, shared with any number of other processes. Every answer is durable when it
// arrives, so nothing waits for a turn; while Redis is away the pipelines stop pulling by themselves.
#pragma once

#include <memory>

#include "app/engine.h"
#include "base/guard.h"
#include "broker/redis_streams/broker.h"
#include "redis/client.h"

namespace dripgate::app {

/// Of one call of a stream. Not the check's few milliseconds: an fsync on every write, or a batch, may take
/// longer, and nobody waits at the other end.
inline constexpr Duration kStreamCallTimeout = 1s;

class RedisEngine final : public Engine {
 public:
  using Engine::Engine;
  ~RedisEngine() override;

  /// Connects in the background. Errors: invalid_argument (what the config says, TLS files).
  Result<void> open() override;
  void start() override;
  void when_durable(std::move_only_function<void(Result<void>)> then) override { then({}); }
  [[nodiscard]] store::BookingStore& bookings() override { return *bookings_; }

 private:
  [[nodiscard]] LinePorts ports_of(const config::StreamSettings& settings);

  std::unique_ptr<redis::Client> client_;
  std::unique_ptr<broker::redis_streams::Broker> broker_;
  std::unique_ptr<store::BookingStore> bookings_;
  Guard guard_;
};

}  // namespace dripgate::app
