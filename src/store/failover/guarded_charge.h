// GuardedCharge: a charge with what its policy wants while the store does not answer.
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

}  // namespace dripgate::store
