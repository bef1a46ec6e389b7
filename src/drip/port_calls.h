// PortCalls: calls of the store, timer, topics and dead letters with a few quick repeats. Every repeated call
// is the same step with the same id, so an unknown outcome is no danger. When the repeats are used up the
// port goes to the brake. On the executor.
#pragma once

#include <memory>
#include <utility>

#include "base/guard.h"
#include "drip/backoff.h"
#include "drip/brake.h"
#include "drip/observer.h"

namespace dripgate::drip {

/// Quick repeats stay far inside every lease.
inline constexpr int kPortTriesMax = 4;
inline constexpr Duration kPortWaitMin = 50ms;

/// The request itself is at fault: no repeat can help, and the port is well.
[[nodiscard]] inline bool refused_for_good(const Error& error) {
  if (error.transient) return false;
  return error.code == ErrorCode::invalid_argument || error.code == ErrorCode::too_large ||
         error.code == ErrorCode::conflict || error.code == ErrorCode::not_found;
}

class PortCalls {
 public:
  PortCalls(Executor& executor, Brake& brake, Observer& observer)
      : executor_(executor), brake_(brake), observer_(observer) {}

  /// `call` starts the same call each time; `done` gets the answer, or the last error.
  template <class T>
  void run(PortName port, core::StreamPtr stream, std::move_only_function<void(Done<T>)> call, Done<T> done) {
    start(std::make_shared<Work<T>>(Work<T>{port, std::move(stream), std::move(call), std::move(done), 0}));
  }

 private:
  template <class T>
  struct Work {
    PortName port;
    core::StreamPtr stream;
    std::move_only_function<void(Done<T>)> call;
    Done<T> done;
    int tries = 0;
  };

  template <class T>
  void start(std::shared_ptr<Work<T>> work) {
    ++work->tries;
    // `work` stays here too: the answer may come inside the call, and the call must outlive itself.
    work->call(
        guard_.wrap([this, work](Result<T> answer) mutable { finish(std::move(work), std::move(answer)); }));
  }

  template <class T>
  void finish(std::shared_ptr<Work<T>> work, Result<T> answer) {
    if (answer) {
      brake_.succeeded(work->port);
      return work->done(std::move(answer));
    }
    observer_.on_port_error(*work->stream, to_string(work->port), answer.error());
    if (refused_for_good(answer.error())) return work->done(std::move(answer));
    if (work->tries < kPortTriesMax && !brake_.held(work->port)) {
      const Duration wait = doubled(kPortWaitMin, work->tries - 1, kProbeWaitMax);
      return executor_.post_after(
          wait, guard_.wrap([this, work = std::move(work)]() mutable { start(std::move(work)); }));
    }
    brake_.failed(work->port, answer.error());
    work->done(std::move(answer));
  }

  Executor& executor_;
  Brake& brake_;
  Observer& observer_;
  Guard guard_;
};

}  // namespace dripgate::drip
