#include "runtime/loop.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/limits.h"
#include "runtime/real_clock.h"

namespace dripgate::runtime {
namespace {

// Of a heap: true when `a` fires after `b`.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return std::pair{a.due, a.sequence} > std::pair{b.due, b.sequence};
};

}  // namespace

void Loop::start(Task end_turn) {
  end_turn_ = std::move(end_turn);
  thread_ = std::thread([this] { io_.run(); });
}

void Loop::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  io_.stop();
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
  const std::scoped_lock lock(mutex_);
  if (stopping_) return;
  ready_.push_back(std::move(task));
  wake();
}

void Loop::post_after(Duration delay, Task task) {
  // Rounded up: a timer that fires before its time finds nothing to do.
  post_after_real(Duration{delay.count() / scale_ + (delay.count() % scale_ > 0 ? 1 : 0)}, std::move(task));
}

void Loop::post_after_real(Duration delay, Task task) {
  if (delay <= Duration{0}) return post(std::move(task));
  const MonoTime due = mono_now() + std::min(delay, Duration{kHorizonMax});
  const std::scoped_lock lock(mutex_);
  if (stopping_) return;
  timers_.push_back(Timer{due, sequence_++, std::move(task)});
  std::ranges::push_heap(timers_, kLater);
  arm();
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

void Loop::wake() {
  if (std::exchange(turn_posted_, true)) return;
  io_.post([this] { run_turn(); });
}

void Loop::arm() {
  if (timers_.empty() || (armed_ && *armed_ <= timers_.front().due)) return;
  armed_ = timers_.front().due;
  io_.post_after(std::max(*armed_ - mono_now(), Duration{0}), [this] { tick(); });
}

void Loop::tick() {
  const std::scoped_lock lock(mutex_);
  const MonoTime now = mono_now();
  if (armed_ && *armed_ <= now) armed_.reset();
  move_due(now);
  if (!ready_.empty() && !stopping_) wake();
  arm();
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

void Loop::run_turn() {
  std::vector<Task> turn;
  std::size_t ran = 0;
  while (ran < kTurnTasksMax) {
    const std::size_t count = take(turn, kTurnTasksMax - ran);
    if (count == 0) break;
    for (Task& task : turn) task();
    turn.clear();
    ran += count;
  }
  end_turn_();
  const std::scoped_lock lock(mutex_);
  turn_posted_ = false;
  if (!ready_.empty() && !stopping_) wake();
}

}  // namespace dripgate::runtime
