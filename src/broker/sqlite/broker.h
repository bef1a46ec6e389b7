// The embedded broker: durable topics, timer and dead letters of all streams in the one SQLite file
// (sqlite/database.h). All calls answer inside the turn; handlers are called by posted tasks on the executor.
// Leases live in memory: one process owns the file, so everything unsettled at a crash is delivered again at
// the next start. Single-threaded. Bounds: leases.h, topic_source.h, stream_timer.h, dead_letter_list.h.
#pragma once

#include <memory>
#include <string>

#include "broker/dead_letter.h"
#include "broker/event_source.h"
#include "broker/publisher.h"
#include "broker/timer.h"
#include "sqlite/database.h"

namespace dripgate::broker::sqlite {

struct Context;

/// One Broker per Database: it knows the next positions of every topic.
class Broker {
 public:
  Broker(dripgate::sqlite::Database& database, Executor& executor, Clock& clock);
  ~Broker();

  /// The same (topic, message id) published again is one message. An empty message id is given one
  /// ("<topic>-<sequence>").
  [[nodiscard]] std::unique_ptr<Publisher> publisher(std::string topic);
  /// One source per topic at a time.
  [[nodiscard]] std::unique_ptr<EventSource> source(std::string topic);
  [[nodiscard]] std::unique_ptr<Timer> timer(std::string stream);
  [[nodiscard]] std::unique_ptr<DeadLetters> dead_letters(std::string topic);

 private:
  std::shared_ptr<Context> context_;  // the parts share it and may outlive this
};

}  // namespace dripgate::broker::sqlite
