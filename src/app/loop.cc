#include "app/loop.h"

#include <algorithm>
#include <future>
#include <utility>

#include "app/real_clock.h"
#include "base/limits.h"

namespace dripgate::app {
namespace {

// Of a heap: true when `a` fires after `b`.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return std::pair{a.due, a.sequence} > std::pair{b.due, b.sequence};
};

}  // namespace

void Loop::start(Task end_turn) {
  end_turn_ = std::move(end_turn);
  thread_ = std::thread([this] { run_turns(); });
}

void Loop::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  // Destroyed outside the lock: what a task holds may post while it ends.
  std::deque<Task> ready;
  std::vector<Timer> timers;
  {
    const std::scoped_lock lock(mutex_);
    ready.swap(ready_);
    timers.swap(timers_);
  }
}

void Loop::post(Task task) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    ready_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void Loop::post_after(Duration delay, Task task) {
  // Rounded up: a timer that fires before its time finds nothing to do.
  post_after_real(Duration{delay.count() / scale_ + (delay.count() % scale_ > 0 ? 1 : 0)}, std::move(task));
}

void Loop::post_after_real(Duration delay, Task task) {
  if (delay <= Duration{0}) return post(std::move(task));
  const MonoTime due = mono_now() + std::min(delay, Duration{kHorizonMax});
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    timers_.push_back(Timer{due, sequence_++, std::move(task)});
    std::ranges::push_heap(timers_, kLater);
  }
  wake_.notify_one();
}

bool Loop::run(Task task) {
  auto ran = std::make_shared<std::promise<void>>();
  std::future<void> waiting = ran->get_future();
  post([task = std::move(task), ran = std::move(ran)]() mutable {
    task();
    ran->set_value();
  });
  try {
    waiting.get();
  } catch (const std::future_error&) {
    return false;  // the promise was destroyed with its task
  }
  return true;
}

bool Loop::wait_for_work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    move_due(mono_now());
    if (!ready_.empty()) return true;
    if (timers_.empty()) {
      wake_.wait(lock);
    } else {
      // A copy: wait_until looks at its argument again, and a post may move the timers meanwhile.
      const MonoTime due = timers_.front().due;
      wake_.wait_until(lock, due);
    }
  }
  return false;
}

void Loop::move_due(MonoTime now) {
  while (!timers_.empty() && timers_.front().due <= now) {
    std::ranges::pop_heap(timers_, kLater);
    ready_.push_back(std::move(timers_.back().task));
    timers_.pop_back();
  }
}

std::size_t Loop::take(std::vector<Task>& turn, std::size_t room) {
  const std::scoped_lock lock(mutex_);
  move_due(mono_now());
  const std::size_t count = std::min(room, ready_.size());
  for (std::size_t i = 0; i < count; ++i) {
    turn.push_back(std::move(ready_.front()));
    ready_.pop_front();
  }
  return count;
}

void Loop::run_turns() {
  std::vector<Task> turn;
  turn.reserve(kTurnTasksMax);
  while (wait_for_work()) {
    std::size_t ran = 0;
    while (ran < kTurnTasksMax) {
      const std::size_t count = take(turn, kTurnTasksMax - ran);
      if (count == 0) break;
      for (Task& task : turn) task();
      turn.clear();
      ran += count;
    }
    end_turn_();
  }
}

}  // namespace dripgate::app
