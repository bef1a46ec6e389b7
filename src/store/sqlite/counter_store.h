// SqliteCounterStore: counters in the embedded file. Answers come inside the turn; rows are kept in memory
// over the turn and written once before its commit. Made by sqlite/stores.h. Single-threaded, on the
// database's executor.
#pragma once

#include <string>
#include <vector>

#include "sqlite/database.h"
#include "store/counter_calls.h"
#include "store/counter_store.h"
#include "store/sqlite/file_clock.h"
#include "store/sqlite/row_cache.h"
#include "store/sqlite/sweeper.h"

namespace dripgate::store {

/// A counter as stored, or (with a name of this store's own) the memory of a refund, which has no state.
struct CounterRow {
  core::CounterState state;
  WallTime expires = kLongAgo;
};

class SqliteCounterStore final : public CounterStore, private sqlite::Participant {
 public:
  SqliteCounterStore(sqlite::Database& database, Clock& clock);
  ~SqliteCounterStore() override;
  SqliteCounterStore(const SqliteCounterStore&) = delete;
  SqliteCounterStore& operator=(const SqliteCounterStore&) = delete;

  void consume(Charges charges, Done<core::Decision> done) override;
  void peek(Charges charges, Done<core::Decision> done) override;
  void refund(Refund refund, Done<bool> done) override;
  void reset(std::string key, Done<void> done) override;
  void inspect(Charge charge, Done<CounterView> done) override;

 private:
  using Rows = RowCache<std::string, CounterRow>;

  Result<void> flush() override;
  void forget() override;

  Result<WallTime> begin_write();
  Result<WallTime> begin_read();
  Result<Rows::Slot*> open(const std::string& key, WallTime now);
  Result<std::vector<Rows::Slot*>> open(const Charges& charges, WallTime now);
  Result<core::Decision> take(const Charges& charges);
  Result<core::Decision> look(const Charges& charges);
  Result<bool> give_back(const Refund& refund);
  Result<void> clear(const std::string& key);
  Result<CounterView> view(const Charge& charge);
  Result<void> load(const std::string& key, CounterRow& row);
  Result<void> write(const std::string& key, const CounterRow& row);

  sqlite::Database& database_;
  FileClock clock_;
  Rows rows_;
  RoundSweeper sweeper_;
};

}  // namespace dripgate::store
