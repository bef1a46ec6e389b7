// StreamLine: one stream's ports on the embedded file and the Pipeline over them. Built and ended by the
// Engine, as often as a failed commit asks for it. On the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "broker/sqlite/after_commit_sink.h"
#include "broker/sqlite/broker.h"
#include "config/snapshot.h"
#include "drip/pipeline.h"
#include "store/booking_store.h"

namespace dripgate::app {

struct LinePorts {
  Executor& executor;
  Clock& clock;
  sqlite::Database& database;
  broker::sqlite::Broker& broker;
  store::BookingStore& bookings;
  drip::Observer& observer;
  broker::Sink* http_sink;  // null: the stream delivers to a topic
};

class StreamLine {
 public:
  /// `current` answers the stream as configured now.
  StreamLine(const config::StreamSettings& settings, std::function<core::StreamPtr()> current,
             const LinePorts& ports);

  [[nodiscard]] core::StreamPtr stream() const { return current_(); }
  [[nodiscard]] broker::Publisher& ingest() { return *ingest_; }
  [[nodiscard]] broker::DeadLetters& dead_letters() { return *dead_letters_; }
  [[nodiscard]] drip::Pipeline& pipeline() { return *pipeline_; }

 private:
  std::function<core::StreamPtr()> current_;
  std::unique_ptr<broker::Publisher> ingest_;
  std::unique_ptr<broker::EventSource> source_;
  std::unique_ptr<broker::Publisher> overflow_;
  std::unique_ptr<broker::EventSource> overflow_source_;
  std::unique_ptr<broker::Timer> timer_;
  std::unique_ptr<broker::DeadLetters> dead_letters_;
  std::unique_ptr<broker::Sink> sink_;
  std::unique_ptr<drip::Pipeline> pipeline_;  // last: ends before its ports
};

}  // namespace dripgate::app
