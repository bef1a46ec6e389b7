// SqliteBookingStore: bookings in the embedded file. Answers come inside the turn; rows are kept in memory
// over the turn and written once before its commit. Made by sqlite/stores.h. Single-threaded, on the
// database's executor.
#pragma once

#include <string>

#include "sqlite/database.h"
#include "store/booking_calls.h"
#include "store/booking_store.h"
#include "store/sqlite/file_clock.h"
#include "store/sqlite/row_cache.h"
#include "store/sqlite/sweeper.h"

namespace dripgate::store {

struct EventName {
  std::string stream;
  std::string id;

  friend bool operator==(const EventName&, const EventName&) = default;
};

struct EventNameHash {
  std::size_t operator()(const EventName& name) const {
    const std::hash<std::string> hash;
    return hash(name.stream) * 0x9e3779b97f4a7c15u ^ hash(name.id);  // odd: keeps the stream's bits
  }
};

/// An event row with the expiry that the file holds for it (kLongAgo: no row there). While that stays, a
/// write leaves the index on it alone.
struct FileEvent {
  EventRow row;
  std::string key;  // it was booked under
  WallTime filed_expires = kLongAgo;
};

class SqliteBookingStore final : public BookingStore, private sqlite::Participant {
 public:
  SqliteBookingStore(sqlite::Database& database, Clock& clock);
  ~SqliteBookingStore() override;
  SqliteBookingStore(const SqliteBookingStore&) = delete;
  SqliteBookingStore& operator=(const SqliteBookingStore&) = delete;

  void reserve(ReserveRequest request, Done<core::ReserveAnswer> done) override;
  void gate(GateRequest request, Done<core::GateAnswer> done) override;
  void done(std::string key, std::string event_id, std::uint32_t generation, Done<void> done) override;
  void release(std::string key, std::string event_id, std::uint32_t generation, core::BookingPolicyPtr policy,
               Done<void> done) override;
  void freeze(std::string key, WallTime until, Done<void> done) override;
  void thaw(std::string key, Done<void> done) override;
  void reset(std::string key, Done<void> done) override;
  void inspect(std::string key, core::BookingPolicyPtr policy, Done<core::KeyView> done) override;

 private:
  using Keys = RowCache<std::string, KeyRow>;
  using Events = RowCache<EventName, FileEvent, EventNameHash>;

  Result<void> flush() override;
  void forget() override;

  Result<WallTime> begin();
  Result<Keys::Slot*> open_key(const std::string& key);
  Result<Events::Slot*> open_event(const EventName& name);
  template <class Answer, class Call>
  Result<Answer> with_rows(const std::string& key, const std::string& event_id, Call call);
  template <class Call>
  Result<void> with_key(const std::string& key, Call call);
  Result<void> load_key(const std::string& key, KeyRow& row);
  Result<void> load_event(const EventName& name, FileEvent& event);
  Result<void> write_key(const std::string& key, const KeyRow& row);
  Result<void> write_event(const EventName& name, FileEvent& event);

  sqlite::Database& database_;
  FileClock clock_;
  Keys keys_;
  Events events_;
  RoundSweeper key_sweeper_;
};

}  // namespace dripgate::store
