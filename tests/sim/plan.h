// Plan: everything that one history is made of, drawn from its seed before it runs: the stream, the events,
// the troubles and the moments of disturbance.
#pragma once

#include <string>
#include <vector>

#include "core/stream.h"
#include "sim/dice.h"

namespace dripgate::sim {

/// The sink's and the ports' troubles, as parts of 1000 calls.
struct Troubles {
  int port_fails = 0;     // refused before anything happened
  int reply_lost = 0;     // happened, but the answer says timed_out
  int reply_late = 0;     // the answer comes up to two seconds later
  int ack_fails = 0;      // of the source's acks only
  int duplicated = 0;     // deliveries and firings that come twice
  int timer_early = 0;    // fires up to two seconds before its slot
  int timer_late = 0;     // ... up to eight seconds after
  int timer_lost = 0;     // never fires; only where the timer is not the embedded file
  int timer_refused = 0;  // entry ids that the timer refuses for good
  int sink_fails = 0;
  int sink_lost_reply = 0;  // it has the event, the caller hears of a failure
  int sink_rate_limits = 0;
  int sink_refuses = 0;  // events that it refuses for good
  int sink_slow = 0;     // answers after up to three seconds

  [[nodiscard]] bool ports_are_well() const {
    return port_fails + reply_lost + reply_late + timer_early + timer_late + timer_lost + timer_refused == 0;
  }
};

struct Planned {
  Duration at{};  // since the history began
  enum class Kind {
    event,
    limits,
    freeze,
    clock_back,
    kill,
    letters_down,
    letters_up,
    pause,
    resume
  } kind = Kind::event;
  int number = 0;  // of the event; of the limits in Plan::later_limits
  int key = 0;
  Duration span{};  // freeze, clock_back: by how much
};

struct PlannedEvent {
  std::string id;
  std::string body;
  int key = 0;
  core::Units cost = 1;
  bool malformed = false;
};

struct Plan {
  std::uint64_t seed = 0;
  bool sqlite = false;
  core::StreamPtr stream;
  std::vector<core::BookingPolicyPtr> later_limits;
  int keys = 1;
  std::vector<PlannedEvent> events;
  std::vector<Planned> timeline;  // ascending
  Troubles troubles;
  int kills_between_steps = 0;  // at random tasks
  Duration troubles_end{};      // from here on everything works
  /// Nothing that may rightly cost an event a second charge: checked exactly.
  [[nodiscard]] bool exact() const;
  /// Nothing comes twice.
  [[nodiscard]] bool only_the_sink_fails() const {
    return exact() && troubles.ack_fails + troubles.duplicated == 0;
  }
};

[[nodiscard]] Plan make_plan(std::uint64_t seed);
[[nodiscard]] Duration longest_window(const core::BookingPolicy& policy);

}  // namespace dripgate::sim
