// Ingest: takes events in over HTTP: gives each a message id, appends all of a call to the stream's topic in
// one turn and waits for the pipeline's verdicts. `enter` and `leave` may be called from any thread, the rest
// is on the loop.
#pragma once

#include <atomic>
#include <random>
#include <string>
#include <vector>

#include "app/engine.h"
#include "app/verdict_board.h"
#include "drip/event_facts.h"

namespace dripgate::app {

/// Events of ingest calls that are not answered yet, over all streams; more are refused for now.
inline constexpr std::size_t kIngestEventsWaitingMax = 50'000;
inline constexpr std::size_t kIngestBytesWaitingMax = 128u << 20;

class Ingest {
 public:
  struct Weight {
    std::size_t events = 0;
    std::size_t bytes = 0;
  };

  Ingest(runtime::Loop& loop, Clock& clock, Engine& engine, VerdictBoard& board);

  /// Is there room for these events? Errors: full (the disk), unavailable (too many wait). Thread-safe.
  Result<Weight> enter(const std::vector<server::IngestEvent>& events);
  void leave(Weight weight);

  void append(StreamLine& line, std::vector<server::IngestEvent> events,
              Done<std::vector<server::IngestAnswer>> done);

 private:
  struct Identity {
    std::string event_id;
    std::string message_id;  // of the topic
  };
  /// Takes the fallback id as given where nothing else names the event.
  [[nodiscard]] Identity identify(const core::Stream& stream, server::IngestEvent& event,
                                  const broker::Message& message);
  [[nodiscard]] std::string made_id();
  /// Also fills in the answer and the message id of event `index`.
  [[nodiscard]] broker::Message message_of(const core::Stream& stream, server::IngestEvent event,
                                           IngestCall& call, std::size_t index);

  runtime::Loop& loop_;
  Clock& clock_;
  Engine& engine_;
  VerdictBoard& board_;
  std::atomic<std::size_t> events_waiting_{0};
  std::atomic<std::size_t> bytes_waiting_{0};
  std::mt19937_64 random_;
  drip::JsonPayload json_;
};

}  // namespace dripgate::app
