// Virtual time for tests: a clock that is set by hand and an executor that runs what is due, in order, in one
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "base/time.h"

namespace dripgate::testing {

/// 2027-01-15T08:00:00Z, a whole minute and hour: T0 of the cases.
inline constexpr WallTime kT0{std::chrono::seconds{1'800'000'000}};

class VirtualClock : public Clock {
 public:
  explicit VirtualClock(WallTime start = kT0) : now_(start) {}
  [[nodiscard]] WallTime now() const override { return now_; }
  void set(WallTime now) { now_ = now; }
  void advance(Duration by) { now_ += by; }

 private:
  WallTime now_;
};

/// Tasks ordered by due time, then by post order. The clock jumps to each task's time; a task posted while
/// the clock was stepped back runs on the executor's own monotonic time, as a real timer would.
class SimExecutor : public Executor {
 public:
  explicit SimExecutor(VirtualClock& clock) : clock_(clock) {}

  void post(Task task) override { post_after(Duration{0}, std::move(task)); }
  void post_after(Duration delay, Task task) override {
    queue_.emplace(std::pair{elapsed_ + std::max(delay, Duration{0}), sequence_++}, std::move(task));
  }

  /// Runs the next task. False: nothing is queued.
  bool run_one() {
    if (queue_.empty()) return false;
    auto node = queue_.extract(queue_.begin());
    advance_to(node.key().first);
    node.mapped()();
    return true;
  }
  /// Runs everything that is due within `span`, then leaves the clock at its end.
  void run_for(Duration span) {
    const Duration end = elapsed_ + span;
    while (!queue_.empty() && queue_.begin()->first.first <= end) run_one();
    advance_to(end);
  }
  /// Runs what is due now, without moving time.
  void run_ready() { run_for(Duration{0}); }
  /// A kill: everything queued is gone.
  void clear() { queue_.clear(); }
  [[nodiscard]] bool idle() const { return queue_.empty(); }
  /// On elapsed(): when the next task runs. Only while something is queued.
  [[nodiscard]] Duration next_due() const { return queue_.begin()->first.first; }
  [[nodiscard]] Duration elapsed() const { return elapsed_; }

 private:
  void advance_to(Duration elapsed) {
    if (elapsed <= elapsed_) return;
    clock_.advance(elapsed - elapsed_);
    elapsed_ = elapsed;
  }

  VirtualClock& clock_;
  Duration elapsed_{};
  std::uint64_t sequence_ = 0;
  std::multimap<std::pair<Duration, std::uint64_t>, Task> queue_;
};

}  // namespace dripgate::testing
