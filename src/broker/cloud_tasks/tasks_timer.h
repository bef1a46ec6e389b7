// TasksTimer: the timer of one stream on Cloud Tasks. Entries become tasks under their own names, so that
// writing one again is writing it once; what is due comes by `receive`, as the dispatcher's route hands it
// on. On the executor.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "base/guard.h"
#include "broker/cloud_tasks/lane.h"
#include "broker/cloud_tasks/task.h"
#include "broker/pushed_timer.h"

namespace dripgate::broker::cloud_tasks {

class TasksTimer final : public PushedTimer {
 public:
  /// Everything referred to outlives the timer.
  TasksTimer(Options options, TasksApi& api, Executor& executor, Clock& clock);

  void schedule(TimerEntry entry, Done<void> done) override;
  void start(Handler handler) override;
  void settle(std::uint64_t token, Done<void> done) override;
  /// This task comes again by the queue's own retries; while paused all of the queue slows down.
  void lapse(std::uint64_t token) override;
  void pause() override { paused_ = true; }
  void resume() override { paused_ = false; }
  /// Cloud Tasks does not tell what it holds: `pending` counts what waits in this process to be created. The
  /// error of a queue that cannot be reached.
  void stats(Done<TimerStats> done) override;
  void receive(TimerEntry entry, std::move_only_function<void(Receipt)> answer) override;

 private:
  struct Look;

  const Options options_;
  Clock& clock_;
  std::deque<Lane> lanes_;
  std::shared_ptr<Handler> handler_;  // shared: it may end this timer while it runs
  std::unordered_map<std::uint64_t, std::move_only_function<void(Receipt)>> out_;
  std::uint64_t last_token_ = 0;
  bool paused_ = false;
  Guard guard_;
};

}  // namespace dripgate::broker::cloud_tasks
