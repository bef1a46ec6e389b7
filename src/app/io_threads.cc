#include "app/io_threads.h"

namespace dripgate::app {

IoThreads::IoThreads(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) loops_.push_back(std::make_unique<net::IoLoop>());
}

void IoThreads::start() {
  for (const auto& loop : loops_) threads_.emplace_back([&loop = *loop] { loop.run(); });
}

void IoThreads::stop() {
  for (const auto& loop : loops_) loop->stop();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  threads_.clear();
}

}  // namespace dripgate::app
