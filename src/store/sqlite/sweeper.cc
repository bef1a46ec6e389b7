#include "store/sqlite/sweeper.h"

#include <vector>

namespace dripgate::store {
namespace {

std::int64_t rows_to_look_at(std::size_t written) {
  return static_cast<std::int64_t>(kSweepRowsMin + kSweepRowsPerWrite * written);
}

}  // namespace

Result<void> RoundSweeper::sweep(WallTime now, std::size_t written) {
  const std::int64_t looks = rows_to_look_at(written);
  std::vector<std::string> over;
  std::int64_t looked = 0;
  sqlite::Statement& select = database_.statement(select_).bind(after_, looks);
  std::string last;
  while (true) {
    const auto row = select.step();
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    ++looked;
    last = select.bytes(0);
    if (select.integer(1) <= to_us(now)) over.push_back(last);
  }
  select.reset();
  for (const std::string& key : over) {
    if (auto removed = database_.statement(remove_).bind(key).run(); !removed) return removed;
  }
  after_ = looked < looks ? std::string{} : last;
  return {};
}

RoundSweeper sweep_counters(sqlite::Database& database) {
  return {database, "SELECT key, expires FROM counters WHERE key > ? ORDER BY key LIMIT ?",
          "DELETE FROM counters WHERE key = ?"};
}

RoundSweeper sweep_booking_keys(sqlite::Database& database) {
  return {database, "SELECT key, expires FROM booking_keys WHERE key > ? ORDER BY key LIMIT ?",
          "DELETE FROM booking_keys WHERE key = ?"};
}

Result<void> sweep_events(sqlite::Database& database, WallTime now, std::size_t written) {
  return database
      .statement(
          "DELETE FROM events WHERE (stream, id) IN "
          "(SELECT stream, id FROM events WHERE expires <= ? ORDER BY expires LIMIT ?)")
      .bind(to_us(now), rows_to_look_at(written))
      .run();
}

}  // namespace dripgate::store
