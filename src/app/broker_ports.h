// The ports of one stream on any Broker (broker/sqlite, broker/redis_streams). Used by the engines.
#pragma once

#include <memory>

#include "app/stream_line.h"
#include "broker/topic_sink.h"

namespace dripgate::app {

/// `sink` is set where the stream delivers to a topic; to HTTP it stays null, for the engine to fill.
template <class Broker>
[[nodiscard]] LinePorts broker_ports(Broker& broker, const config::StreamSettings& settings, Clock& clock) {
  const core::Stream& stream = *settings.stream;
  LinePorts ports{.ingest = broker.publisher(settings.source_topic),
                  .source = broker.source(settings.source_topic),
                  .overflow = broker.publisher(stream.overflow_topic),
                  .overflow_source = broker.source(stream.overflow_topic),
                  .timer = broker.timer(stream.id),
                  .dead_letters = broker.dead_letters(stream.dead_letter_topic),
                  .sink = nullptr,
                  .own_sink = {}};
  if (const auto* topic = std::get_if<config::TopicDelivery>(&settings.deliver)) {
    ports.own_sink = std::make_unique<broker::TopicSink>(stream.id, clock, broker.publisher(topic->topic));
    ports.sink = ports.own_sink.get();
  }
  return ports;
}

}  // namespace dripgate::app
