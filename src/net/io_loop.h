// IoLoop: one Asio io_context that exactly one thread of the caller runs. Servers, clients and sinks are
// placed on loops; nothing here makes a thread. Also an Executor on real time, for the CLI.
#pragma once

#include <memory>

#include "base/time.h"

namespace dripgate::net {

class IoLoop final : public Executor {
 public:
  IoLoop();
  /// Everything still waiting on it is dropped unrun. Only once run() has returned.
  ~IoLoop() override;
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  /// Runs tasks and I/O in the calling thread until stop().
  void run();
  /// Runs what is ready and waits for more, for at most `span` of real time. For tests and progress bars.
  void run_for(Duration span);
  /// Thread-safe. run() returns after the task in hand.
  void stop();

  void post(Task task) override;                        // thread-safe
  void post_after(Duration delay, Task task) override;  // thread-safe; real time
  [[nodiscard]] MonoTime now() const;                   // thread-safe; the clock of post_after

  struct Impl;  // net/io_loop_impl.h
  [[nodiscard]] const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace dripgate::net
