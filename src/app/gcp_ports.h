// GcpPorts: the ports of streams whose topics are on Google Cloud. Made by the engine, which gives what stays
// in its store: the timer and the letters. Opened before the loop starts, then on the loop.
#pragma once

#include <memory>
#include <string>

#include "app/engine.h"
#include "broker/pubsub/broker.h"

namespace dripgate::app {

class GcpPorts {
 public:
  /// Null: no stream of the config is on Google Cloud. Looks for credentials and at topics and subscriptions:
  /// blocks, at most some seconds. Errors: no credentials, or what is missing or cannot serve, one sentence.
  [[nodiscard]] static Result<std::unique_ptr<GcpPorts>> open(const EngineContext& context,
                                                              const std::string& instance);

  /// `sink` is set where the stream delivers to a topic, else null.
  [[nodiscard]] LinePorts ports_of(const config::StreamSettings& settings,
                                   std::unique_ptr<broker::Timer> timer,
                                   std::unique_ptr<broker::DeadLetters> letters);

 private:
  GcpPorts(Clock& clock, std::unique_ptr<broker::pubsub::Broker> pubsub)
      : clock_(clock), pubsub_(std::move(pubsub)) {}

  Clock& clock_;
  std::unique_ptr<broker::pubsub::Broker> pubsub_;
};

}  // namespace dripgate::app
