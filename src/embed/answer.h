// How an answer comes back to the caller of the library: once, outside every lock, through the caller's
// `post` or where it was given; and how a synchronous call waits for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/result.h"
#include "dripgate/result.h"

namespace dripgate::embed {

/// An Error of the rooms as one of the library.
[[nodiscard]] v1::Error outward(const Error& error);

/// Where one answer and its caller meet. The answer may be given while the store is locked: the callback runs
/// once both have come, the answer and the caller's way out of the store (`open`).
template <class T>
class Answer {
 public:
  Answer(v1::Callback<T> done, v1::Post post) : done_(std::move(done)), post_(std::move(post)) {}

  void give(v1::Result<T> answer) {
    answer_.emplace(std::move(answer));
    come();
  }
  void open() { come(); }

 private:
  void come() {
    if (come_.fetch_add(1, std::memory_order_acq_rel) == 0) return;
    if (!post_) return done_(std::move(*answer_));
    post_([done = std::move(done_), answer = std::move(*answer_)]() mutable { done(std::move(answer)); });
  }

  v1::Callback<T> done_;
  v1::Post post_;
  std::optional<v1::Result<T>> answer_;
  std::atomic<int> come_{0};
};

/// The duty to give one answer: who drops it without one has answered `cancelled`.
template <class T>
class Owed {
 public:
  explicit Owed(std::shared_ptr<Answer<T>> answer) : answer_(std::move(answer)) {}
  Owed(Owed&&) noexcept = default;
  Owed& operator=(Owed&&) = delete;
  ~Owed() {
    if (answer_) answer_->give(v1::Error{v1::ErrorCode::cancelled, false, "what was asked has ended"});
  }
  void give(v1::Result<T> answer) { std::exchange(answer_, nullptr)->give(std::move(answer)); }

 private:
  std::shared_ptr<Answer<T>> answer_;
};

/// Asks `begin(Owed<T>)` inside enter of `host`, in the callback form.
template <class T, class Host, class Begin>
void ask(Host& host, v1::Callback<T> done, v1::Post post, Begin begin) {
  auto answer = std::make_shared<Answer<T>>(std::move(done), std::move(post));
  host.enter([owed = Owed<T>(answer), begin = std::move(begin)]() mutable { begin(std::move(owed)); });
  answer->open();
}

/// The same, and waits for the answer.
template <class T, class Host, class Begin>
v1::Result<T> wait_for(Host& host, Begin begin) {
  if (host.waits_for_itself()) {
    return v1::Error{v1::ErrorCode::invalid_argument, false,
                     "a synchronous call on the store's own thread would wait for itself; accepted: the "
                     "callback form, or callbacks through `post`"};
  }
  std::mutex mutex;
  std::condition_variable wake;
  std::optional<v1::Result<T>> got;
  ask<T>(
      host,
      [&](v1::Result<T> answer) {
        const std::scoped_lock lock(mutex);
        got.emplace(std::move(answer));
        wake.notify_one();
      },
      {}, std::move(begin));
  std::unique_lock lock(mutex);
  wake.wait(lock, [&] { return got.has_value(); });
  return std::move(*got);
}

}  // namespace dripgate::embed
