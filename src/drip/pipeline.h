// Pipeline: one stream's drip, end to end: intake -> reserve -> (sink | timer | dead letter) -> ack, and
// later timer -> gate -> overflow topic -> overflow consumer -> sink. One executor; every port calls back on
// it. Ending a Pipeline at any instant is a crash that loses nothing: leases lapse, timers fire again.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/time.h"
#include "broker/dead_letter.h"
#include "broker/event_source.h"
#include "broker/publisher.h"
#include "broker/sink.h"
#include "broker/timer.h"
#include "core/stream.h"
#include "drip/observer.h"
#include "store/booking_store.h"

namespace dripgate::drip {

/// Everything outside one stream's drip. References outlive the Pipeline.
struct Ports {
  Executor& executor;
  Clock& clock;  // for waits and stamps before the first store answer; the store's own clock decides
  store::BookingStore& store;
  broker::EventSource& source;
  broker::Publisher& overflow;           // the stream's overflow topic ...
  broker::EventSource& overflow_source;  // ... and its consuming end
  broker::Timer& timer;
  broker::DeadLetters& dead_letters;
  broker::Sink& sink;
  broker::FlowControl flow;
};

/// What of a stream one process does; several processes may each do a part, or the same one.
struct Roles {
  bool intake = true;    // source -> reserve -> sink, timer or dead letter
  bool dispatch = true;  // timer -> gate -> overflow topic
  bool consume = true;   // overflow topic -> sink

  friend bool operator==(const Roles&, const Roles&) = default;
};

struct PipelineStatus {
  bool paused = false;
  std::uint64_t outstanding = 0;  // deliveries in our hands, unsettled
  std::uint64_t backlog = 0;      // timer entries waiting
  std::optional<WallTime> oldest_slot;
  std::optional<WallTime> eta;  // when the last booked event is due
  std::uint64_t dead_letters = 0;
  std::optional<Error> last_error;  // of a port, while it lasts
};

struct ReplayRequest {
  std::optional<std::uint64_t> sequence;  // one letter; empty: all that are there now
  std::int64_t per_second = 100;          // rate cap
};

class Pipeline {
 public:
  /// `current` answers the stream as configured now; called per event, so that a reload takes effect at once.
  Pipeline(std::function<core::StreamPtr()> current, Ports ports, Observer& observer);
  ~Pipeline();

  void start(Roles roles = {});
  /// Stops pulling and firing; what is booked stays booked.
  void pause();
  void resume();
  /// Ordered end: stop pulling and firing, let what is persisted be acked and what is at the sink be
  /// answered; at most `wait`.
  void shutdown(Duration wait, Done<void> done);

  void status(Done<PipelineStatus> done);
  /// Dead letters go back through reserve with the same id. Answers how many letters it will replay.
  void replay(ReplayRequest request, Done<std::uint64_t> done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dripgate::drip
