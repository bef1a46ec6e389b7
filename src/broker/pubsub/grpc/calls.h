// Calls: what of one client is on its way, so that its end can cancel all of it and wait until nothing will
// call back. Thread-safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include <grpcpp/client_context.h>

namespace dripgate::broker::pubsub {

class Calls {
 public:
  using Context = std::shared_ptr<::grpc::ClientContext>;

  void enter(const Context& context) {
    const std::scoped_lock lock(mutex_);
    open_.insert(context);
  }
  void leave(const Context& context) {
    const std::scoped_lock lock(mutex_);
    open_.erase(context);
    if (open_.empty()) idle_.notify_all();
  }
  /// Blocks; none may be entered meanwhile.
  void end() {
    std::vector<Context> all;
    {
      const std::scoped_lock lock(mutex_);
      all.assign(open_.begin(), open_.end());
    }
    for (const Context& context : all) context->TryCancel();
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return open_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  std::unordered_set<Context> open_;
};

}  // namespace dripgate::broker::pubsub
