#include "app/stream_line.h"

#include <utility>

namespace dripgate::app {

StreamLine::StreamLine(const config::StreamSettings& settings, std::function<core::StreamPtr()> current,
                       const LineContext& context, LinePorts ports)
    : current_(std::move(current)), ports_(std::move(ports)) {
  drip::Ports pipeline_ports{
      .executor = context.executor,
      .clock = context.clock,
      .store = context.bookings,
      .source = *ports_.source,
      .overflow = *ports_.overflow,
      .overflow_source = *ports_.overflow_source,
      .timer = *ports_.timer,
      .dead_letters = *ports_.dead_letters,
      .sink = *ports_.sink,
      .flow = {settings.max_outstanding_messages, settings.max_outstanding_bytes},
  };
  pipeline_ = std::make_unique<drip::Pipeline>(current_, pipeline_ports, context.observer);
}

}  // namespace dripgate::app
