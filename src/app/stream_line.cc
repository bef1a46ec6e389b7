#include "app/stream_line.h"

#include <utility>

#include "broker/topic_sink.h"

namespace dripgate::app {
namespace {

std::unique_ptr<broker::Sink> make_sink(const config::StreamSettings& settings, const LinePorts& ports) {
  if (const auto* topic = std::get_if<config::TopicDelivery>(&settings.deliver)) {
    return std::make_unique<broker::TopicSink>(settings.stream->id, ports.clock,
                                               ports.broker.publisher(topic->topic));
  }
  return std::make_unique<broker::sqlite::AfterCommitSink>(ports.database, *ports.http_sink);
}

}  // namespace

StreamLine::StreamLine(const config::StreamSettings& settings, std::function<core::StreamPtr()> current,
                       const LinePorts& ports)
    : current_(std::move(current)),
      ingest_(ports.broker.publisher(settings.source_topic)),
      source_(ports.broker.source(settings.source_topic)),
      overflow_(ports.broker.publisher(settings.stream->overflow_topic)),
      overflow_source_(ports.broker.source(settings.stream->overflow_topic)),
      timer_(ports.broker.timer(settings.stream->id)),
      dead_letters_(ports.broker.dead_letters(settings.stream->dead_letter_topic)),
      sink_(make_sink(settings, ports)) {
  drip::Ports pipeline_ports{
      .executor = ports.executor,
      .clock = ports.clock,
      .store = ports.bookings,
      .source = *source_,
      .overflow = *overflow_,
      .overflow_source = *overflow_source_,
      .timer = *timer_,
      .dead_letters = *dead_letters_,
      .sink = *sink_,
      .flow = {settings.max_outstanding_messages, settings.max_outstanding_bytes},
  };
  pipeline_ = std::make_unique<drip::Pipeline>(current_, pipeline_ports, ports.observer);
}

}  // namespace dripgate::app
