#include "store/sqlite/booking_store.h"

#include <utility>

#include "store/sqlite/stores.h"

namespace dripgate::store {
namespace {

constexpr const char* kSelectKey = "SELECT state, expires FROM booking_keys WHERE key = ?";
constexpr const char* kSelectEvent = "SELECT record, expires, key FROM events WHERE stream = ? AND id = ?";
constexpr const char* kWriteKey =
    "INSERT INTO booking_keys (key, state, expires) VALUES (?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET state = excluded.state, expires = excluded.expires";
constexpr const char* kWriteEvent =
    "INSERT INTO events (stream, id, key, record, expires) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (stream, id) DO UPDATE SET key = excluded.key, record = excluded.record, expires = "
    "excluded.expires";
constexpr const char* kUpdateEvent = "UPDATE events SET record = ? WHERE stream = ? AND id = ?";

std::unexpected<Error> in_table(Error error, const char* table, const std::string& key) {
  error.detail = std::string(table) + " row of key '" + key + "': " + error.detail;
  return std::unexpected(std::move(error));
}

}  // namespace

SqliteBookingStore::SqliteBookingStore(sqlite::Database& database, Clock& clock)
    : database_(database), clock_(database, clock), key_sweeper_(sweep_booking_keys(database)) {
  database_.join(this);
}

SqliteBookingStore::~SqliteBookingStore() {
  database_.leave(this);
}

void SqliteBookingStore::reserve(ReserveRequest request, Done<core::ReserveAnswer> done) {
  if (auto valid = calls::check(request.policy); !valid) return done(std::unexpected(valid.error()));
  done(with_rows<core::ReserveAnswer>(request.key, request.event_id,
                                      [&](KeyRow& key, EventRow& event, WallTime now, RowChanges& changes) {
                                        return calls::reserve(key, event, request, now, changes);
                                      }));
}

void SqliteBookingStore::gate(GateRequest request, Done<core::GateAnswer> done) {
  if (auto valid = calls::check(request.policy); !valid) {
    return done(std::unexpected(valid.error()));
  }
  done(with_rows<core::GateAnswer>(request.ticket.key, request.ticket.event_id,
                                   [&](KeyRow& key, EventRow& event, WallTime now, RowChanges& changes) {
                                     return calls::gate(key, event, request, now, changes);
                                   }));
}

void SqliteBookingStore::done(std::string key, std::string event_id, std::uint32_t generation,
                              Done<void> done) {
  done(with_rows<void>(key, event_id,
                       [&](KeyRow&, EventRow& event, WallTime now, RowChanges& changes) -> Result<void> {
                         calls::settle(event, generation, now, changes);
                         return {};
                       }));
}

void SqliteBookingStore::release(std::string key, std::string event_id, std::uint32_t generation,
                                 core::BookingPolicyPtr policy, Done<void> done) {
  if (auto valid = calls::check(policy); !valid) return done(std::unexpected(valid.error()));
  done(with_rows<void>(key, event_id,
                       [&](KeyRow& row, EventRow& event, WallTime now, RowChanges& changes) -> Result<void> {
                         calls::release(row, event, *policy, generation, now, changes);
                         return {};
                       }));
}

void SqliteBookingStore::freeze(std::string key, WallTime until, Done<void> done) {
  done(with_key(
      key, [&](KeyRow& row, WallTime now, RowChanges& changes) { calls::freeze(row, until, now, changes); }));
}

void SqliteBookingStore::thaw(std::string key, Done<void> done) {
  done(with_key(key, [](KeyRow& row, WallTime now, RowChanges& changes) { calls::thaw(row, now, changes); }));
}

void SqliteBookingStore::reset(std::string key, Done<void> done) {
  done(
      with_key(key, [](KeyRow& row, WallTime now, RowChanges& changes) { calls::reset(row, now, changes); }));
}

void SqliteBookingStore::inspect(std::string key, core::BookingPolicyPtr policy, Done<core::KeyView> done) {
  if (auto valid = calls::check(policy); !valid) return done(std::unexpected(valid.error()));
  const auto now = [&]() -> Result<WallTime> {
    if (auto begun = database_.begin_read(); !begun) return std::unexpected(begun.error());
    return clock_.now();
  }();
  if (!now) return done(std::unexpected(now.error()));
  keys_.trim();
  const auto slot = open_key(key);
  if (!slot) return done(std::unexpected(slot.error()));
  done(calls::inspect((*slot)->second.row, *policy, *now));
}

Result<WallTime> SqliteBookingStore::begin() {
  if (auto begun = database_.begin_write(); !begun) return std::unexpected(begun.error());
  keys_.trim();
  events_.trim();
  return clock_.now();
}

template <class Answer, class Call>
Result<Answer> SqliteBookingStore::with_rows(const std::string& key, const std::string& event_id, Call call) {
  const auto now = begin();
  if (!now) return std::unexpected(now.error());
  const auto event_slot = open_event(EventName{std::string(stream_of(key)), event_id});
  if (!event_slot) return std::unexpected(event_slot.error());
  FileEvent& event = (*event_slot)->second.row;
  if (!event.row.record || event.row.expires <= *now) {  // nothing is known of this id: it is this key's
    event.key = key;
    event.filed_expires = kLongAgo;
  }
  const auto key_slot = open_key(event.key);
  if (!key_slot) return std::unexpected(key_slot.error());
  RowChanges changes;
  auto answer = call((*key_slot)->second.row, event.row, *now, changes);
  if (changes.key) keys_.mark(**key_slot);
  if (changes.event) events_.mark(**event_slot);
  return answer;
}

template <class Call>
Result<void> SqliteBookingStore::with_key(const std::string& key, Call call) {
  const auto now = begin();
  if (!now) return std::unexpected(now.error());
  const auto slot = open_key(key);
  if (!slot) return std::unexpected(slot.error());
  RowChanges changes;
  call((*slot)->second.row, *now, changes);
  if (changes.key) keys_.mark(**slot);
  return {};
}

Result<SqliteBookingStore::Keys::Slot*> SqliteBookingStore::open_key(const std::string& key) {
  return keys_.open(key, [&](KeyRow& row) { return load_key(key, row); });
}

Result<SqliteBookingStore::Events::Slot*> SqliteBookingStore::open_event(const EventName& name) {
  return events_.open(name, [&](FileEvent& event) { return load_event(name, event); });
}

Result<void> SqliteBookingStore::load_key(const std::string& key, KeyRow& row) {
  sqlite::Statement& select = database_.statement(kSelectKey).bind(key);
  const auto found = select.step();
  if (!found) return std::unexpected(found.error());
  if (!*found) return {};
  auto state = core::decode_state(select.bytes(0));
  row.expires = from_us(select.integer(1));
  select.reset();
  if (!state) return in_table(std::move(state).error(), "booking_keys", key);
  row.state = *std::move(state);
  return {};
}

Result<void> SqliteBookingStore::load_event(const EventName& name, FileEvent& event) {
  sqlite::Statement& select = database_.statement(kSelectEvent).bind(name.stream, name.id);
  const auto found = select.step();
  if (!found) return std::unexpected(found.error());
  if (!*found) return {};
  auto record = core::decode_record(select.bytes(0));
  event.filed_expires = event.row.expires = from_us(select.integer(1));
  event.key = select.bytes(2);
  select.reset();
  if (!record) return in_table(std::move(record).error(), "events", event.key);
  event.row.record = *record;
  return {};
}

Result<void> SqliteBookingStore::write_key(const std::string& key, const KeyRow& row) {
  const std::string state = core::encode(row.state);
  return database_.statement(kWriteKey).bind(key, sqlite::Blob{state}, to_us(row.expires)).run();
}

Result<void> SqliteBookingStore::write_event(const EventName& name, FileEvent& event) {
  const std::string record = core::encode(*event.row.record);
  const sqlite::Blob bytes{record};
  if (event.filed_expires == event.row.expires) {
    return database_.statement(kUpdateEvent).bind(bytes, name.stream, name.id).run();
  }
  event.filed_expires = event.row.expires;
  return database_.statement(kWriteEvent)
      .bind(name.stream, name.id, event.key, bytes, to_us(event.row.expires))
      .run();
}

Result<void> SqliteBookingStore::flush() {
  const std::size_t rows = keys_.dirty() + events_.dirty();
  if (rows == 0) return {};
  const auto keys = keys_.flush([this](const auto& key, const auto& row) { return write_key(key, row); });
  if (!keys) return keys;
  const auto events =
      events_.flush([this](const auto& name, auto& event) { return write_event(name, event); });
  if (!events) return events;
  if (auto kept = clock_.keep(); !kept) return kept;
  if (auto swept = key_sweeper_.sweep(clock_.latest(), rows); !swept) return swept;
  return sweep_events(database_, clock_.latest(), rows);
}

void SqliteBookingStore::forget() {
  keys_.forget();
  events_.forget();
  clock_.forget();
}

std::unique_ptr<BookingStore> make_sqlite_booking_store(sqlite::Database& database, Clock& clock) {
  return std::make_unique<SqliteBookingStore>(database, clock);
}

}  // namespace dripgate::store
