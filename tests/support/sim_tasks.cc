#include "support/sim_tasks.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace dripgate::testing {

namespace cloud_tasks = broker::cloud_tasks;

void SimTasks::create(const Task& task, Answer done) {
  ++creates;
  if (refuse) {
    if (auto status = refuse(task)) return done(*std::move(status));
  }
  const bool lost = lose_reply && lose_reply(task);
  CallStatus status;
  if (!taken.insert(task.name()).second) {
    status = {cloud_tasks::kAlreadyExists, "the task exists or existed"};
  } else {
    tasks[task.name()] = {.task = task};
    const Duration lateness = late ? late(task) : Duration{0};
    send_after(std::max(task.due - clock_.now() + lateness, Duration{0}), task.name());
  }
  if (!lost) return done(std::move(status));
  executor_.post_after(cloud_tasks::kCallDeadline, [done = std::move(done)]() mutable {
    done({cloud_tasks::kDeadlineExceeded, "deadline exceeded"});
  });
}

void SimTasks::look(const std::string&, Answer done) {
  if (refuse) {
    if (auto status = refuse({})) return done(*std::move(status));
  }
  done({});
}

// A kill has cleared the executor.
void SimTasks::connect(broker::PushedTimer* timer) {
  timer_ = timer;
  if (timer == nullptr) return;
  for (const auto& [name, stored] : tasks)
    send_after(std::max(stored.task.due - clock_.now(), Duration{0}), name);
}

void SimTasks::send_after(Duration wait, const std::string& name) {
  const std::uint64_t number = ++tasks.at(name).number;
  executor_.post_after(wait, [this, name, number] { send(name, number); });
}

void SimTasks::send(const std::string& name, std::uint64_t number) {
  const auto found = tasks.find(name);
  if (found == tasks.end() || found->second.number != number) return;
  const Duration slow = slow_until_[found->second.task.queue] - clock_.now();
  if (slow > Duration{0}) return send_after(slow, name);
  ++found->second.attempts;
  if (timer_ == nullptr) return answered(name, number, std::nullopt);
  const bool again = twice && twice(found->second.task);
  deliver(name, number);
  if (again && timer_ != nullptr) deliver(name, number);
}

/// Dropped unanswered: the connection broke.
struct SimTasks::Attempt {
  SimTasks& tasks;
  std::string name;
  std::uint64_t number;
  bool answered = false;

  ~Attempt() {
    if (!answered) tasks.answered(name, number, std::nullopt);
  }
};

void SimTasks::deliver(const std::string& name, std::uint64_t number) {
  const auto found = tasks.find(name);
  if (found == tasks.end()) return;
  ++sent;
  const Task& task = found->second.task;
  auto headers = task.headers;
  headers.emplace_back("X-CloudTasks-TaskName", task.id);
  auto attempt = std::make_shared<Attempt>(*this, name, number);
  timer_->receive(cloud_tasks::read_task(headers, task.body), [attempt](broker::Receipt receipt) {
    attempt->answered = true;
    attempt->tasks.answered(attempt->name, attempt->number, receipt);
  });
}

void SimTasks::answered(const std::string& name, std::uint64_t number,
                        std::optional<broker::Receipt> receipt) {
  const auto found = tasks.find(name);
  if (found == tasks.end() || found->second.number != number) return;
  if (receipt == broker::Receipt::handled) {
    tasks.erase(found);
    return;
  }
  if (receipt == broker::Receipt::stop) {
    ++slowed;
    slow_until_[found->second.task.queue] = clock_.now() + kSlowDown;
  }
  Duration wait = kRetryMin;
  for (int i = 1; i < found->second.attempts && wait < kRetryMax; ++i) wait *= 2;
  send_after(std::min(wait, kRetryMax), name);
}

}  // namespace dripgate::testing
