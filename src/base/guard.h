// Guard: callbacks that outlive their owner do nothing. The owner holds the Guard as its LAST member and
// wraps every callback that it hands out; a kill or a shutdown destroys the owner and the callbacks still in
// the world turn into no-ops. Single-threaded: owner and callbacks live on one executor.
#pragma once

#include <memory>
#include <utility>

namespace dripgate {

class Guard {
 public:
  Guard() : alive_(std::make_shared<char>()) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  template <class F>
  [[nodiscard]] auto wrap(F callback) const {
    return [alive = std::weak_ptr<char>(alive_), callback = std::move(callback)](auto&&... args) mutable {
      if (!alive.expired()) callback(std::forward<decltype(args)>(args)...);
    };
  }

 private:
  std::shared_ptr<char> alive_;
};

}  // namespace dripgate
