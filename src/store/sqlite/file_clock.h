// FileClock: the store's clock, with the latest time kept in the file, so that a restart or a second
// connection sees a clock that stepped back as this process would. Used by the SQLite stores, inside a turn.
#pragma once

#include "sqlite/database.h"
#include "store/store_clock.h"

namespace dripgate::store {

class FileClock {
 public:
  FileClock(sqlite::Database& database, Clock& clock) : database_(database), clock_(clock) {}

  /// After begin_read or begin_write.
  [[nodiscard]] Result<WallTime> now();
  [[nodiscard]] WallTime latest() const { return clock_.latest(); }
  /// Writes the latest time; part of a flush.
  Result<void> keep();
  /// The file may hold a later time now.
  void forget() { read_ = false; }

 private:
  Result<void> read();

  sqlite::Database& database_;
  StoreClock clock_;
  bool read_ = false;
};

}  // namespace dripgate::store
