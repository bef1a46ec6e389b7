#include "runtime/real_clock.h"

namespace dripgate::runtime {

MonoTime mono_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

WallTime RealClock::now() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

}  // namespace dripgate::runtime
