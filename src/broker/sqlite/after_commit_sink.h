// AfterCommitSink: lets a delivery leave the process only once the turn that decided it is durable. When the
// commit fails the turn is void: nothing is sent and nothing is answered, because the owner ends the pipeline
// and builds it again from the file (app/engine.h). On the database's executor.
#pragma once

#include "base/guard.h"
#include "broker/sink.h"
#include "sqlite/database.h"

namespace dripgate::broker::sqlite {

class AfterCommitSink final : public Sink {
 public:
  /// `inner` answers on the database's executor.
  AfterCommitSink(dripgate::sqlite::Database& database, Sink& inner) : database_(database), inner_(inner) {}
  void deliver(Outgoing outgoing, std::move_only_function<void(SinkAnswer)> done) override;

 private:
  dripgate::sqlite::Database& database_;
  Sink& inner_;
  Guard guard_;
};

}  // namespace dripgate::broker::sqlite
