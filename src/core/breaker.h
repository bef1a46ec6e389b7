// Circuit breaker of one shard of a store: closed -> open after several failures in a window, never after
// one; open -> half-open after a pause; half-open lets one probe at a time through. Time is an argument. Not
// thread-safe: one per shard, under that shard's lock or thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace dripgate::core {

struct BreakerSettings {
  int failures_min = 5;      // failures in the window before it opens; below 2 counts as 2
  int failure_percent = 50;  // and at least this share of the window's calls
  Duration window = std::chrono::seconds{2};
  Duration pause = std::chrono::milliseconds{500};  // of the first opening; doubles with every failed probe
  Duration pause_max = std::chrono::seconds{10};
  Duration probe_timeout =
      std::chrono::seconds{1};  // a probe that was never reported no longer blocks the next
};

class Breaker {
 public:
  enum class State : std::uint8_t { closed, open, half_open };
  /// Permission for one call; report it back once. An answer to an older state's call changes nothing.
  struct Permit {
    std::uint64_t era = 0;
    std::uint64_t probe = 0;  // 0: an ordinary call
  };

  explicit Breaker(BreakerSettings settings = {});

  /// Empty: do not ask the store.
  [[nodiscard]] std::optional<Permit> admit(MonoTime now);
  void succeeded(const Permit& permit, MonoTime now);
  void failed(const Permit& permit, MonoTime now);
  [[nodiscard]] State state(MonoTime now) const;

 private:
  struct Tally {
    int calls = 0;
    int failures = 0;
  };
  void roll(MonoTime now);
  void open(MonoTime now, Duration pause);
  void close();
  [[nodiscard]] bool probing(MonoTime now) const;

  BreakerSettings settings_;
  bool closed_ = true;
  std::uint64_t era_ = 1;     // grows with every change between closed and not closed
  std::uint64_t probes_ = 0;  // number of the latest probe
  MonoTime half_started_{};   // closed: the window is counted in two halves
  Tally older_, current_;
  MonoTime retry_at_{};  // open until then
  Duration pause_{};
  std::optional<MonoTime> probe_started_;
};

}  // namespace dripgate::core
