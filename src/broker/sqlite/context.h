// What the parts of one embedded broker share. Its lifetime is the longest of them.
#pragma once

#include <memory>

#include "broker/sqlite/scopes.h"
#include "broker/sqlite/turn_budget.h"
#include "broker/sqlite/unwritten.h"
#include "broker/wakeups.h"
#include "sqlite/database.h"

namespace dripgate::broker::sqlite {

struct Context {
  Context(db::Database& on_database, Executor& on_executor, Clock& by_clock)
      : database(on_database),
        executor(on_executor),
        clock(by_clock),
        scopes(on_database),
        unwritten(on_database),
        budget(on_database) {}

  db::Database& database;
  Executor& executor;
  Clock& clock;
  Scopes scopes;
  Unwritten unwritten;
  TurnBudget budget;
  Wakeups wakeups;
};
using ContextPtr = std::shared_ptr<Context>;

}  // namespace dripgate::broker::sqlite
