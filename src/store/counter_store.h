// The port to shared counters of the gate: consume all or nothing, peek, refund, reset, inspect. Every
// backend gives the same answers (tests/conformance). The store's own clock decides. `done` runs exactly
// once, never under a lock.
#pragma once

#include <string>

#include <absl/container/inlined_vector.h>

#include "base/result.h"
#include "core/decision.h"
#include "core/limit.h"

namespace dripgate::store {

/// One limit of one policy applied to one rendered counter key (core/counter_key.h).
struct Charge {
  std::string key;  // unique per policy, limit and key values
  core::Limit limit;
  core::Units cost = 1;  // 0: asks without taking, still denied when nothing is left
};

using Charges = absl::InlinedVector<Charge, core::kChargesInPlace>;  // at most kChargesPerRequestMax

struct Refund {
  Charges charges;       // as consumed
  WallTime consumed_at;  // Decision.now of the consume: units of an older window are not given to a later one
  std::string request_id;  // spent by its first refund, whatever that gave back
};

struct CounterView {
  core::LimitOutcome outcome;  // as a peek of cost 0 would say
  bool exists = false;         // false: never used or idle
};

class CounterStore {
 public:
  virtual ~CounterStore() = default;
  /// Takes every charge or none. Errors: unavailable, timed_out (may have counted), clock_stepped_back,
  /// invalid_argument.
  virtual void consume(Charges charges, Done<core::Decision> done) = 0;
  /// The same decision, nothing taken.
  virtual void peek(Charges charges, Done<core::Decision> done) = 0;
  /// True: given back; false: this request_id was refunded before, or its window is over.
  virtual void refund(Refund refund, Done<bool> done) = 0;
  /// Forgets the counter: the key starts fresh.
  virtual void reset(std::string key, Done<void> done) = 0;
  virtual void inspect(Charge charge, Done<CounterView> done) = 0;
};

}  // namespace dripgate::store
