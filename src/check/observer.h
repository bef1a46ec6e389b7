// Observer: hears of every decision, for metrics. Called on the Checker's executor, before the caller hears.
#pragma once

#include "base/time.h"
#include "check/answer.h"

namespace dripgate::check {

class Observer {
 public:
  virtual ~Observer() = default;
  /// Of a check that was no peek. `took`: from the question to the answer.
  virtual void on_decision(const Answer& answer, Duration took) = 0;
};

}  // namespace dripgate::check
