#include "broker/sqlite/after_commit_sink.h"

#include <utility>

namespace dripgate::broker::sqlite {

void AfterCommitSink::deliver(Outgoing outgoing, std::move_only_function<void(SinkAnswer)> done) {
  database_.after_commit(guard_.wrap(
      [this, outgoing = std::move(outgoing), done = std::move(done)](Result<void> committed) mutable {
        if (committed) inner_.deliver(std::move(outgoing), std::move(done));
      }));
}

}  // namespace dripgate::broker::sqlite
