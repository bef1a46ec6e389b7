// TasksTimer: see tasks_timer.h.
#include "broker/cloud_tasks/tasks_timer.h"

#include <utility>

namespace dripgate::broker::cloud_tasks {

TasksTimer::TasksTimer(Options options, TasksApi& api, Executor& executor, Clock& clock)
    : options_(std::move(options)), clock_(clock) {
  for (std::size_t i = 0; i < options_.queues.size(); ++i)
    lanes_.emplace_back(queue_name(options_, i), api, executor, clock);
}

void TasksTimer::schedule(TimerEntry entry, Done<void> done) {
  const std::size_t index = queue_of(entry.id, lanes_.size());
  auto task = make_task(options_, std::move(entry), clock_.now());
  if (!task) return done(std::unexpected(std::move(task).error()));
  lanes_[index].add(*std::move(task), std::move(done));
}

void TasksTimer::start(Handler handler) {
  handler_ = std::make_shared<Handler>(std::move(handler));
}

void TasksTimer::receive(TimerEntry entry, std::move_only_function<void(Receipt)> answer) {
  if (handler_ == nullptr || paused_) return answer(Receipt::stop);
  const std::uint64_t token = ++last_token_;
  out_.emplace(token, std::move(answer));
  const std::shared_ptr<Handler> handler = handler_;
  (*handler)(FiredEntry{std::move(entry), token});
}

void TasksTimer::settle(std::uint64_t token, Done<void> done) {
  auto waiting = out_.extract(token);
  if (!waiting.empty()) waiting.mapped()(Receipt::handled);
  done({});
}

void TasksTimer::lapse(std::uint64_t token) {
  auto waiting = out_.extract(token);
  if (!waiting.empty()) waiting.mapped()(paused_ ? Receipt::stop : Receipt::again);
}

/// One answer of all lanes.
struct TasksTimer::Look {
  std::size_t open = 0;
  TimerStats stats{};
  std::optional<Error> error{};
  Done<TimerStats> done;
};

void TasksTimer::stats(Done<TimerStats> done) {
  auto look = std::make_shared<Look>(lanes_.size(), TimerStats{}, std::nullopt, std::move(done));
  for (Lane& lane : lanes_) {
    look->stats.pending += lane.waiting();
    lane.probe(guard_.wrap([look](const Result<void>& answer) {
      if (!answer && !look->error) look->error = answer.error();
      if (--look->open > 0) return;
      look->error ? look->done(std::unexpected(*look->error)) : look->done(look->stats);
    }));
  }
}

}  // namespace dripgate::broker::cloud_tasks
