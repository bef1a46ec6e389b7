// Turn: when what the task in hand has done is durable, whatever the store. On the embedded file that is the
// commit at the end of the turn; on Redis every answer is durable when it arrives. On the loop.
#pragma once

#include <utility>

#include "base/result.h"

namespace dripgate::app {

class Turn {
 public:
  virtual ~Turn() = default;
  /// `then` hears whether what was done so far lasts; an error makes it void.
  virtual void when_durable(std::move_only_function<void(Result<void>)> then) = 0;
};

/// Wraps `done`: a success waits until it is durable and becomes the error if that fails.
template <class T>
[[nodiscard]] Done<T> durable(Turn& turn, Done<T> done) {
  return [&turn, done = std::move(done)](Result<T> result) mutable {
    if (!result) return done(std::move(result));
    turn.when_durable([done = std::move(done), result = std::move(result)](Result<void> lasts) mutable {
      lasts ? done(std::move(result)) : done(std::unexpected(lasts.error()));
    });
  };
}

}  // namespace dripgate::app
