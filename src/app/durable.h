// durable: an answer that leaves the process only once its turn is committed. On the loop.
#pragma once

#include <utility>

#include "sqlite/database.h"

namespace dripgate::app {

/// Wraps `done`: a success waits for the commit of the current turn and becomes its error if that fails.
template <class T>
[[nodiscard]] Done<T> durable(sqlite::Database& database, Done<T> done) {
  return [&database, done = std::move(done)](Result<T> result) mutable {
    if (!result) return done(std::move(result));
    database.after_commit(
        [done = std::move(done), result = std::move(result)](Result<void> committed) mutable {
          committed ? done(std::move(result)) : done(std::unexpected(committed.error()));
        });
  };
}

}  // namespace dripgate::app
