// IoThreads: the threads that serve HTTP, one net::IoLoop each. Owned by App and by the demo.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "net/io_loop.h"

namespace dripgate::app {

class IoThreads {
 public:
  explicit IoThreads(std::size_t count);
  ~IoThreads() { stop(); }

  void start();
  /// Ends the threads; what still waits on the loops is dropped with them. Idempotent.
  void stop();
  [[nodiscard]] net::IoLoop& loop(std::size_t index) { return *loops_[index]; }

 private:
  std::vector<std::unique_ptr<net::IoLoop>> loops_;
  std::vector<std::thread> threads_;
};

}  // namespace dripgate::app
