// SteeredClock: the wall clock of redis-server processes, set by the test (steered_clock.c is preloaded into
// them). Redis' TIME, EXPIRE and TTLs follow it at once; its timers and timeouts of idle waits stay real.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "support/scratch_folder.h"

namespace dripgate::testing {

class SteeredClock final : public Clock {
 public:
  SteeredClock();  // real time until it is set
  ~SteeredClock() override;
  SteeredClock(const SteeredClock&) = delete;
  SteeredClock& operator=(const SteeredClock&) = delete;

  /// What Redis' clock says from now on, standing still. 1970 or later.
  void set(WallTime now);
  void advance(Duration by) { set(now() + by); }
  /// What was set last; 1970 before that.
  [[nodiscard]] WallTime now() const override;

  /// The words to put into the environment of a process that follows this clock.
  [[nodiscard]] std::string preload() const;
  [[nodiscard]] std::string file() const;

 private:
  ScratchFolder folder_;
  std::int64_t* page_ = nullptr;
};

}  // namespace dripgate::testing
