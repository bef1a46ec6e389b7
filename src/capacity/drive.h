// Drives the loop of a bench from its one thread. Inside src/capacity only.
#pragma once

#include <functional>

#include "net/io_loop.h"

namespace dripgate::capacity {

/// How long the loop runs before the condition is looked at again.
inline constexpr Duration kLookEvery = std::chrono::milliseconds{1};

/// Runs the loop until `holds`, at most for `patience`. False: it never held.
inline bool drive(net::IoLoop& loop, const std::function<bool()>& holds, Duration patience) {
  const MonoTime end = loop.now() + patience;
  while (!holds()) {
    if (loop.now() >= end) return false;
    loop.run_for(kLookEvery);
  }
  return true;
}

}  // namespace dripgate::capacity
