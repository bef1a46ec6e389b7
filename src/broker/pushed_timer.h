// The port to a timer that lives elsewhere and pushes: what is due comes as a request, which waits for its
// answer. Everything but `receive` is the Timer that the drip knows.
#pragma once

#include <cstdint>
#include <functional>

#include "broker/timer.h"

namespace dripgate::broker {

/// What the service that pushed is told.
enum class Receipt : std::uint8_t {
  handled,  // done with it for good
  again,    // this one again later; nothing is said of the others
  stop,     // nothing works here: all of them again later
};

class PushedTimer : public Timer {
 public:
  /// A firing has come. `answer` is called once, on the executor; dropped with the timer.
  virtual void receive(TimerEntry entry, std::move_only_function<void(Receipt)> answer) = 0;
};

}  // namespace dripgate::broker
