#include "store/sqlite/counter_store.h"

#include <utility>

#include "store/sqlite/stores.h"

namespace dripgate::store {
namespace {

constexpr const char* kSelect = "SELECT state, expires FROM counters WHERE key = ?";
constexpr const char* kWrite =
    "INSERT INTO counters (key, state, expires) VALUES (?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET state = excluded.state, expires = excluded.expires";
constexpr const char* kDelete = "DELETE FROM counters WHERE key = ?";

std::string refund_row(const std::string& request_id) {
  return std::string(1, kOwnRowPrefix) + "refund:" + request_id;
}

template <class Slot>
std::vector<core::CheckItem> items(const Charges& charges, const std::vector<Slot*>& slots) {
  std::vector<core::CheckItem> made;
  made.reserve(charges.size());
  for (std::size_t i = 0; i < charges.size(); ++i) {
    made.push_back(
        {.state = &slots[i]->second.row.state, .limit = &charges[i].limit, .cost = charges[i].cost});
  }
  return made;
}

}  // namespace

SqliteCounterStore::SqliteCounterStore(sqlite::Database& database, Clock& clock)
    : database_(database), clock_(database, clock), sweeper_(sweep_counters(database)) {
  database_.join(this);
}

SqliteCounterStore::~SqliteCounterStore() {
  database_.leave(this);
}

void SqliteCounterStore::consume(Charges charges, Done<core::Decision> done) {
  done(take(charges));
}

void SqliteCounterStore::peek(Charges charges, Done<core::Decision> done) {
  done(look(charges));
}

void SqliteCounterStore::refund(Refund refund, Done<bool> done) {
  done(give_back(refund));
}

void SqliteCounterStore::reset(std::string key, Done<void> done) {
  done(clear(key));
}

void SqliteCounterStore::inspect(Charge charge, Done<CounterView> done) {
  done(view(charge));
}

Result<core::Decision> SqliteCounterStore::take(const Charges& charges) {
  if (auto valid = calls::check(charges); !valid) return std::unexpected(valid.error());
  const auto now = begin_write();
  if (!now) return std::unexpected(now.error());
  const auto slots = open(charges, *now);
  if (!slots) return std::unexpected(slots.error());
  std::vector<core::WrittenUnder> before;
  before.reserve(charges.size());
  for (const Rows::Slot* slot : *slots) before.push_back(slot->second.row.state.written);
  core::Decision decision = core::consume(items(charges, *slots), *now);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    CounterRow& row = (*slots)[i]->second.row;
    const bool taken = decision.verdict == core::Verdict::allow && charges[i].cost > 0;
    if (!taken && row.state.written == before[i]) continue;
    row.expires = calls::counter_expiry(row.state, charges[i].limit, *now);
    rows_.mark(*(*slots)[i]);
  }
  return decision;
}

Result<core::Decision> SqliteCounterStore::look(const Charges& charges) {
  if (auto valid = calls::check(charges); !valid) return std::unexpected(valid.error());
  const auto now = begin_read();
  if (!now) return std::unexpected(now.error());
  const auto slots = open(charges, *now);
  if (!slots) return std::unexpected(slots.error());
  return core::peek(items(charges, *slots), *now);
}

Result<bool> SqliteCounterStore::give_back(const Refund& refund) {
  if (auto valid = calls::check(refund); !valid) return std::unexpected(valid.error());
  const auto now = begin_write();
  if (!now) return std::unexpected(now.error());
  const auto memory = open(refund_row(refund.request_id), *now);
  if (!memory) return std::unexpected(memory.error());
  if ((*memory)->second.row.expires > *now) return false;
  const auto slots = open(refund.charges, *now);
  if (!slots) return std::unexpected(slots.error());
  bool given = false;
  for (std::size_t i = 0; i < refund.charges.size(); ++i) {
    const Charge& charge = refund.charges[i];
    CounterRow& row = (*slots)[i]->second.row;
    if (!core::refund(row.state, charge.limit, charge.cost, refund.consumed_at, *now)) continue;
    rows_.mark(*(*slots)[i]);
    given = true;
  }
  const WallTime expires = calls::refund_expiry(refund);
  if (expires <= *now) return given;
  (*memory)->second.row.expires = expires;
  rows_.mark(**memory);
  return given;
}

Result<void> SqliteCounterStore::clear(const std::string& key) {
  if (auto valid = calls::check_key(key); !valid) return valid;
  const auto now = begin_write();
  if (!now) return std::unexpected(now.error());
  const auto slot = open(key, *now);
  if (!slot) return std::unexpected(slot.error());
  if ((*slot)->second.row.expires == kLongAgo) return {};
  (*slot)->second.row = CounterRow{};
  rows_.mark(**slot);
  return {};
}

Result<CounterView> SqliteCounterStore::view(const Charge& charge) {
  Charges asked{charge};
  asked.front().cost = 0;
  if (auto valid = calls::check(asked); !valid) return std::unexpected(valid.error());
  const auto now = begin_read();
  if (!now) return std::unexpected(now.error());
  const auto slots = open(asked, *now);
  if (!slots) return std::unexpected(slots.error());
  const core::Decision decision = core::peek(items(asked, *slots), *now);
  const core::CounterState& state = (*slots)[0]->second.row.state;
  return CounterView{.outcome = decision.outcomes.front(),
                     .exists = core::forgettable_at(state, charge.limit) > *now};
}

Result<WallTime> SqliteCounterStore::begin_write() {
  if (auto begun = database_.begin_write(); !begun) return std::unexpected(begun.error());
  rows_.trim();
  return clock_.now();
}

Result<WallTime> SqliteCounterStore::begin_read() {
  if (auto begun = database_.begin_read(); !begun) return std::unexpected(begun.error());
  rows_.trim();
  return clock_.now();
}

Result<SqliteCounterStore::Rows::Slot*> SqliteCounterStore::open(const std::string& key, WallTime now) {
  auto slot = rows_.open(key, [&](CounterRow& row) { return load(key, row); });
  if (slot && (*slot)->second.row.expires <= now) (*slot)->second.row = CounterRow{};
  return slot;
}

Result<std::vector<SqliteCounterStore::Rows::Slot*>> SqliteCounterStore::open(const Charges& charges,
                                                                              WallTime now) {
  std::vector<Rows::Slot*> slots;
  slots.reserve(charges.size());
  for (const Charge& charge : charges) {
    const auto slot = open(charge.key, now);
    if (!slot) return std::unexpected(slot.error());
    slots.push_back(*slot);
  }
  return slots;
}

Result<void> SqliteCounterStore::load(const std::string& key, CounterRow& row) {
  sqlite::Statement& select = database_.statement(kSelect).bind(key);
  const auto found = select.step();
  if (!found) return std::unexpected(found.error());
  if (!*found) return {};
  const WallTime expires = from_us(select.integer(1));
  Result<core::CounterState> state = core::CounterState{};
  if (key.front() != kOwnRowPrefix) state = core::decode_counter(select.bytes(0));
  select.reset();
  if (!state) {
    Error error = std::move(state).error();
    error.detail = "counters row of key '" + key + "': " + error.detail;
    return std::unexpected(std::move(error));
  }
  row = CounterRow{.state = *std::move(state), .expires = expires};
  return {};
}

Result<void> SqliteCounterStore::write(const std::string& key, const CounterRow& row) {
  const bool own = key.front() == kOwnRowPrefix;
  if (!own && !row.state.exists) return database_.statement(kDelete).bind(key).run();
  const std::string state = own ? std::string{} : core::encode(row.state);
  return database_.statement(kWrite).bind(key, sqlite::Blob{state}, to_us(row.expires)).run();
}

Result<void> SqliteCounterStore::flush() {
  const std::size_t rows = rows_.dirty();
  if (rows == 0) return {};
  if (auto done = rows_.flush([this](const auto& key, const auto& row) { return write(key, row); }); !done)
    return done;
  if (auto kept = clock_.keep(); !kept) return kept;
  return sweeper_.sweep(clock_.latest(), rows);
}

void SqliteCounterStore::forget() {
  rows_.forget();
  clock_.forget();
}

std::unique_ptr<CounterStore> make_sqlite_counter_store(sqlite::Database& database, Clock& clock) {
  return std::make_unique<SqliteCounterStore>(database, clock);
}

}  // namespace dripgate::store
