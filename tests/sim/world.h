// World: the ports of one history, and what a kill does to them. Two kinds: a memory store and an in-memory
// broker that survive kills as external services do, with a timer of that broker or on Cloud Tasks; and the
// embedded file on a VFS that loses what was not synced.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broker/dead_letter.h"
#include "broker/event_source.h"
#include "broker/publisher.h"
#include "broker/sink.h"
#include "broker/timer.h"
#include "sim/dice.h"
#include "store/booking_store.h"
#include "support/virtual_time.h"

namespace dripgate::sim {

inline constexpr const char* kSourceTopic = "s-in";

class World {
 public:
  virtual ~World() = default;

  /// The ports of one life; references hold until close().
  struct Ports {
    store::BookingStore& store;
    broker::EventSource& source;
    broker::Publisher& overflow;
    broker::EventSource& overflow_source;
    broker::Timer& timer;
    broker::DeadLetters& dead_letters;
    broker::Sink& sink;  // the given one, behind whatever makes a delivery wait for the commit
  };
  virtual Ports open(broker::Sink& sink) = 0;
  /// The power is cut: every port is gone, and what was not durable.
  virtual void close() = 0;

  /// Durable when it returns.
  virtual Result<void> produce(broker::Message message) = 0;
  /// Between two tasks: the end of a turn, maybe. True: everything so far is durable. An Error is a crash.
  virtual Result<bool> after_task(Dice& dice, bool may_die) = 0;
  virtual Result<bool> make_durable() = 0;
  /// Messages and timer entries that are still there.
  virtual std::size_t waiting() = 0;
};

/// Whose timers a memory world has.
enum class Timers : std::uint8_t { broker, cloud_tasks, cloud_tasks_with_claims };

[[nodiscard]] std::unique_ptr<World> make_memory_world(testing::VirtualClock& clock,
                                                       testing::SimExecutor& executor, Timers timers);
[[nodiscard]] std::unique_ptr<World> make_sqlite_world(testing::VirtualClock& clock,
                                                       testing::SimExecutor& executor, std::uint64_t seed);

}  // namespace dripgate::sim
