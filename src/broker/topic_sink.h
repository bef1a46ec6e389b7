// TopicSink: `deliver: {topic: ...}` over any Publisher. On the executor of its topic. Over an embedded topic
// the event is published in the same commit as the decision, so it is there exactly when it was let go.
#pragma once

#include <memory>
#include <string>

#include "broker/publisher.h"
#include "broker/sink.h"

namespace dripgate::broker {

class TopicSink final : public Sink {
 public:
  /// `stream` prefixes the message ids: two streams may deliver to one topic without sharing an id.
  TopicSink(std::string stream, Clock& clock, std::unique_ptr<Publisher> topic)
      : stream_(std::move(stream)), clock_(clock), topic_(std::move(topic)) {}
  void deliver(Outgoing outgoing, std::move_only_function<void(SinkAnswer)> done) override;

 private:
  std::string stream_;
  Clock& clock_;
  std::unique_ptr<Publisher> topic_;
};

}  // namespace dripgate::broker
