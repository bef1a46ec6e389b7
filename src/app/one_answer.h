// OneAnswer: a callback for whoever comes first, a store or a deadline. On one loop.
#pragma once

#include <utility>

#include "base/result.h"

namespace dripgate::app {

template <class T>
class OneAnswer {
 public:
  explicit OneAnswer(Done<T> done) : done_(std::move(done)) {}
  void give(Result<T> answer) {
    if (auto to = std::exchange(done_, nullptr)) to(std::move(answer));
  }

 private:
  Done<T> done_;
};

}  // namespace dripgate::app
