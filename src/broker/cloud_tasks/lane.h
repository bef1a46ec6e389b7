// Lane: the calls of one queue. At most `window` are on their way; a quota error halves the window and lets
// the lane rest (doubling, with jitter), and nothing is lost by it: the task waits here and is sent again
// under its own name. Other queues go on. On the executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/guard.h"
#include "broker/cloud_tasks/tasks_api.h"

namespace dripgate::broker::cloud_tasks {

inline constexpr std::size_t kWindowMax = 64;       // calls of one queue on their way
inline constexpr std::size_t kWaitingMax = 16'384;  // tasks of one queue that wait for their call; over: full
inline constexpr Duration kRestMin = 100ms;
inline constexpr Duration kRestMax = 10s;
/// A task that a quota holds up for so long is given back to the drip, which stops pulling.
inline constexpr Duration kQuotaPatience = 60s;

class Lane {
 public:
  Lane(std::string queue, TasksApi& api, Executor& executor, Clock& clock)
      : queue_(std::move(queue)), api_(api), executor_(executor), clock_(clock) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// `done` as Timer::schedule.
  void add(Task task, Done<void> done);
  /// Harmless: is it worth another try? At once where the last call went well.
  void probe(Done<void> done);

  [[nodiscard]] std::size_t waiting() const { return waiting_.size() + in_flight_; }

 private:
  struct Call {
    Task task;
    Done<void> done;
    WallTime since;
  };

  void pump();
  void send(Call call);
  void answered(Call call, const CallStatus& status);
  void rest(const Call& call);
  void drop_impatient(WallTime now, const CallStatus& status);
  void wake_after(Duration wait);

  const std::string queue_;
  TasksApi& api_;
  Executor& executor_;
  Clock& clock_;
  std::deque<Call> waiting_;
  std::size_t in_flight_ = 0;
  std::size_t window_ = kWindowMax;
  Duration rest_ = kRestMin;
  WallTime rests_until_ = kLongAgo;
  bool proven_ = false;                // it has taken a task
  std::optional<CallStatus> trouble_;  // of the last call that was no success
  Guard guard_;
};

}  // namespace dripgate::broker::cloud_tasks
