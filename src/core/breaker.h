// Circuit breaker of one shard of a store: closed -> open after several failures in a window, or several in a
// row that no success interrupts for a while; never after one. open -> half-open after a pause; half-open
// lets one probe at a time through. Time is an argument. Not thread-safe: one per shard, under that shard's
// lock or thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace dripgate::core {

struct BreakerSettings {
  int failures_min = 5;      // failures in the window before it opens; below 2 counts as 2
  int failure_percent = 50;  // and at least this share of the window's calls
  Duration window = std::chrono::seconds{2};
  /// failures_min in a row open it too, once they span this: a store that is gone is known before the
  /// successes of the window are outweighed, and one stall that fails everything in flight is not enough.
  Duration streak_span = std::chrono::milliseconds{20};
  Duration pause = std::chrono::milliseconds{100};  // of the first opening; doubles with every failed probe
  Duration pause_max = std::chrono::milliseconds{400};  // with a lost connection's 500 ms: back within 1 s
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
  /// When it is worth asking `admit` again: the end of the pause, or of a probe that is never reported. Only
  /// while not closed.
  [[nodiscard]] MonoTime retry_at() const;

 private:
  struct Tally {
    int calls = 0;
    int failures = 0;
  };
  void roll(MonoTime now);
  void open(MonoTime now, Duration pause);
  void close();
  void extend_streak(MonoTime now);
  [[nodiscard]] bool too_many(MonoTime now) const;
  [[nodiscard]] bool probing(MonoTime now) const;

  BreakerSettings settings_;
  bool closed_ = true;
  std::uint64_t era_ = 1;     // grows with every change between closed and not closed
  std::uint64_t probes_ = 0;  // number of the latest probe
  MonoTime half_started_{};   // closed: the window is counted in two halves
  Tally older_, current_;
  int streak_ = 0;  // failures since the last success, the first of them at most a window ago
  MonoTime streak_started_{};
  MonoTime retry_at_{};  // open until then
  Duration pause_{};
  std::optional<MonoTime> probe_started_;
};

}  // namespace dripgate::core
