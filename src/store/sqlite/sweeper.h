// Sweeper: removes expired rows of one table in small batches, one per flush: the work of a turn never
// depends on how much is stored. Used by the SQLite stores inside a flush.
#pragma once

#include <string>

#include "sqlite/database.h"

namespace dripgate::store {

/// Rows looked at per flush on top of those for the turn's own rows.
inline constexpr std::size_t kSweepRowsMin = 8;
/// Rows looked at for each row that the turn wrote: faster than the table can grow.
inline constexpr std::size_t kSweepRowsPerWrite = 2;

/// A table without an index on its expiry is walked round and round, a few rows per turn.
class RoundSweeper {
 public:
  /// `select`: key and expires of rows after a key, in order, bounded; `remove`: one key. Both of one table.
  RoundSweeper(sqlite::Database& database, const char* select, const char* remove)
      : database_(database), select_(select), remove_(remove) {}

  Result<void> sweep(WallTime now, std::size_t written);

 private:
  sqlite::Database& database_;
  const char* select_;
  const char* remove_;
  std::string after_;  // the last key looked at
};

[[nodiscard]] RoundSweeper sweep_counters(sqlite::Database& database);
[[nodiscard]] RoundSweeper sweep_booking_keys(sqlite::Database& database);

/// Events have an index on their expiry: the earliest go first.
[[nodiscard]] Result<void> sweep_events(sqlite::Database& database, WallTime now, std::size_t written);

}  // namespace dripgate::store
