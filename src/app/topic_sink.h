// TopicSink: `deliver: {topic: ...}`. Publishes to an embedded topic in the same commit as the decision, so
// the event is there exactly when it was let go. On the loop.
#pragma once

#include <memory>
#include <string>

#include "broker/publisher.h"
#include "broker/sink.h"

namespace dripgate::app {

class TopicSink final : public broker::Sink {
 public:
  /// `stream` prefixes the message ids: two streams may deliver to one topic without sharing an id.
  TopicSink(std::string stream, Clock& clock, std::unique_ptr<broker::Publisher> topic)
      : stream_(std::move(stream)), clock_(clock), topic_(std::move(topic)) {}
  void deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) override;

 private:
  std::string stream_;
  Clock& clock_;
  std::unique_ptr<broker::Publisher> topic_;
};

}  // namespace dripgate::app
