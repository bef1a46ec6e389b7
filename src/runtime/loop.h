// Loop: the drip loop, one thread that runs posted tasks in turns. A turn is up to kTurnTasksMax tasks; after
// it `end_turn` runs once, which commits what they wrote (group commit: whatever is posted during the commit
// shares the next one). Between turns it serves the sockets placed on io(): Redis clients live there, on the
// same thread. `post` and `post_after` may be called from any thread; the rest from the owner's.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/time.h"
#include "net/io_loop.h"

namespace dripgate::runtime {

class Loop final : public Executor {
 public:
  /// `scale`: how much faster than real time the clock of this loop runs (runtime/real_clock.h); delays
  /// shrink by it.
  explicit Loop(std::int64_t scale = 1) : scale_(scale) {}
  ~Loop() override { stop(); }

  /// Starts the thread; `end_turn` runs on it after every turn.
  void start(Task end_turn);
  /// Lets the turn that runs finish, ends the thread, destroys what is still queued. Idempotent.
  void stop();

  /// After stop the task is destroyed unrun.
  void post(Task task) override;
  void post_after(Duration delay, Task task) override;
  /// The same on real time: for waits of people and sockets.
  void post_after_real(Duration delay, Task task);

  /// Runs `task` on the loop and waits for it (start and shutdown only; never from the loop itself). False:
  /// the loop has stopped and the task did not run.
  bool run(Task task);

  /// For sockets of this thread; only until stop().
  [[nodiscard]] net::IoLoop& io() { return io_; }

 private:
  struct Timer {
    MonoTime due;
    std::uint64_t sequence = 0;
    Task task;
  };

  void run_turn();
  void tick();
  std::size_t take(std::vector<Task>& turn, std::size_t room);
  // With the lock held.
  void move_due(MonoTime now);
  void wake();
  void arm();

  const std::int64_t scale_;
  net::IoLoop io_;
  std::mutex mutex_;
  std::deque<Task> ready_;
  std::vector<Timer> timers_;  // heap, the earliest in front
  std::uint64_t sequence_ = 0;
  bool turn_posted_ = false;       // run_turn is queued on io_, or runs
  std::optional<MonoTime> armed_;  // a tick comes then
  bool stopping_ = false;
  Task end_turn_;
  std::thread thread_;
};

}  // namespace dripgate::runtime
