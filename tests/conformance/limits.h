// Limits in one word for tests.
#pragma once

#include "core/limit.h"

namespace dripgate::testing {

inline core::Limit per(core::Units limit, Duration window) {
  return {.algorithm = core::Algorithm::fixed_window,
          .limit = limit,
          .window = window,
          .capacity = limit,
          .zone = {}};
}
inline core::Limit log_of(core::Units limit, Duration window) {
  return {.algorithm = core::Algorithm::sliding_log,
          .limit = limit,
          .window = window,
          .capacity = limit,
          .zone = {}};
}
inline core::Limit bucket(core::Units limit, Duration window, core::Units capacity) {
  return {.algorithm = core::Algorithm::token_bucket,
          .limit = limit,
          .window = window,
          .capacity = capacity,
          .zone = {}};
}

}  // namespace dripgate::testing
