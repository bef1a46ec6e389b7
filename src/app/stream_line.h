// StreamLine: one stream's ports and the Pipeline over them. Built and ended by the Engine. On the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "config/config.h"
#include "drip/pipeline.h"
#include "store/booking_store.h"

namespace dripgate::app {

/// What the lines of one Engine share; outlives them.
struct LineContext {
  Executor& executor;
  Clock& clock;
  store::BookingStore& bookings;
  drip::Observer& observer;
};

/// Where one stream's events come from, wait and go to.
struct LinePorts {
  std::unique_ptr<broker::Publisher> ingest;  // into its source topic
  std::unique_ptr<broker::EventSource> source;
  std::unique_ptr<broker::Publisher> overflow;
  std::unique_ptr<broker::EventSource> overflow_source;
  std::unique_ptr<broker::Timer> timer;
  std::unique_ptr<broker::DeadLetters> dead_letters;
  broker::Sink* sink = nullptr;
  std::unique_ptr<broker::Sink> own_sink;  // what `sink` points to, where it is made for this line
};

class StreamLine {
 public:
  /// `current` answers the stream as configured now.
  StreamLine(const config::StreamSettings& settings, std::function<core::StreamPtr()> current,
             const LineContext& context, LinePorts ports);

  [[nodiscard]] core::StreamPtr stream() const { return current_(); }
  [[nodiscard]] broker::Publisher& ingest() { return *ports_.ingest; }
  [[nodiscard]] broker::DeadLetters& dead_letters() { return *ports_.dead_letters; }
  [[nodiscard]] drip::Pipeline& pipeline() { return *pipeline_; }

 private:
  std::function<core::StreamPtr()> current_;
  LinePorts ports_;
  std::unique_ptr<drip::Pipeline> pipeline_;  // last: ends before its ports
};

}  // namespace dripgate::app
