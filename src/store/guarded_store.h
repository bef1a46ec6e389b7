// The port that the check use case asks: charges with what their policies want while the store does not
// answer. FailoverStore (failover/failover_store.h) implements it over any CounterStore.
#pragma once

#include <vector>

#include "core/decision.h"
#include "store/counter_store.h"

namespace dripgate::store {

struct GuardedCharge {
  Charge charge;
  core::FailureMode on_store_failure = core::FailureMode::closed;
  int local_share = 1;  // local: one part in so many at most, however few instances are counted
};

using GuardedCharges = std::vector<GuardedCharge>;  // at most kChargesPerRequestMax

/// Single-threaded: called, and answers, on its own executor. `done` runs exactly once.
class GuardedStore {
 public:
  virtual ~GuardedStore() = default;
  /// Takes every charge or none. A store that fails is no error here: outcomes say which mode decided and
  /// whether they carry numbers. Error: only invalid_argument.
  virtual void consume(GuardedCharges charges, Done<core::Decision> done) = 0;
  /// The same decision, nothing taken.
  virtual void peek(GuardedCharges charges, Done<core::Decision> done) = 0;
  /// Gives back what the store took (a local share is never given back). True: something was given back;
  /// false: this request_id was refunded before, or its windows are over. Errors: unavailable, timed_out,
  /// invalid_argument; the same id may be sent again.
  virtual void refund(Refund refund, Done<bool> done) = 0;
};

}  // namespace dripgate::store
