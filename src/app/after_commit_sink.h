// AfterCommitSink: lets a delivery leave the process only once the turn that decided it is durable. When the
// commit fails the turn is void: nothing is sent and nothing is answered, because the owner ends the pipeline
// and builds it again from the file (app/engine.h). On the loop.
#pragma once

#include "base/guard.h"
#include "broker/sink.h"
#include "sqlite/database.h"

namespace dripgate::app {

class AfterCommitSink final : public broker::Sink {
 public:
  /// `inner` answers on the loop.
  AfterCommitSink(sqlite::Database& database, broker::Sink& inner) : database_(database), inner_(inner) {}
  void deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) override;

 private:
  sqlite::Database& database_;
  broker::Sink& inner_;
  Guard guard_;
};

}  // namespace dripgate::app
