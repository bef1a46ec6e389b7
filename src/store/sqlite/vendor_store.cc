// VendorStore on the embedded file: rows of the store's own in `counters`, beside those of refunds.
// Single-threaded, on the database's executor; answers come inside the turn.
#include <utility>

#include "store/counter_calls.h"
#include "store/sqlite/file_clock.h"
#include "store/sqlite/row_cache.h"
#include "store/sqlite/stores.h"
#include "store/sqlite/sweeper.h"

namespace dripgate::store {
namespace {

constexpr const char* kSelect = "SELECT state, expires FROM counters WHERE key = ?";
constexpr const char* kWrite =
    "INSERT INTO counters (key, state, expires) VALUES (?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET state = excluded.state, expires = excluded.expires";
constexpr const char* kDelete = "DELETE FROM counters WHERE key = ?";

std::string row_name(const std::string& key) {
  return std::string(1, kOwnRowPrefix) + "vendor:" + key;
}

struct VendorRow {
  core::VendorState state;
  WallTime expires = kLongAgo;
};

class SqliteVendorStore final : public VendorStore, private sqlite::Participant {
 public:
  SqliteVendorStore(sqlite::Database& database, Clock& clock)
      : database_(database), clock_(database, clock), sweeper_(sweep_counters(database)) {
    database_.join(this);
  }
  ~SqliteVendorStore() override { database_.leave(this); }
  SqliteVendorStore(const SqliteVendorStore&) = delete;
  SqliteVendorStore& operator=(const SqliteVendorStore&) = delete;

  void acquire(VendorAcquire call, Done<core::VendorGrant> done) override {
    done(change<core::VendorGrant>(
        call.key, *call.policy,
        [&](core::VendorState& state, WallTime now) {
          return core::acquire(state, *call.policy, call.costs, now);
        },
        [](const core::VendorGrant& grant) { return grant.allowed || grant.retry_after > Duration{0}; }));
  }

  void observe(VendorObserve call, Done<core::VendorEffect> done) override {
    done(change<core::VendorEffect>(
        call.key, *call.policy,
        [&](core::VendorState& state, WallTime now) {
          return core::observe(state, *call.policy, call.seen, now);
        },
        [](const core::VendorEffect&) { return true; }));
  }

  void inspect(std::string key, core::VendorPolicyPtr policy, Done<core::VendorView> done) override {
    done(look(key, *policy));
  }

  void reset(std::string key, Done<void> done) override { done(clear(key)); }

 private:
  using Rows = RowCache<std::string, VendorRow>;

  template <class Answer, class Call, class Writes>
  Result<Answer> change(const std::string& key, const core::VendorPolicy& policy, Call call, Writes writes) {
    const auto now = begin(true);
    if (!now) return std::unexpected(now.error());
    const auto slot = open(row_name(key), *now);
    if (!slot) return std::unexpected(slot.error());
    core::VendorState state = (*slot)->second.row.state;
    Result<Answer> answer = call(state, *now);
    if (!answer || !writes(*answer)) return answer;
    const WallTime expires = core::kept_until(state, policy);
    (*slot)->second.row = {.state = std::move(state), .expires = expires};
    rows_.mark(**slot);
    return answer;
  }

  Result<core::VendorView> look(const std::string& key, const core::VendorPolicy& policy) {
    const auto now = begin(false);
    if (!now) return std::unexpected(now.error());
    const auto slot = open(row_name(key), *now);
    if (!slot) return std::unexpected(slot.error());
    return core::view((*slot)->second.row.state, policy, *now);
  }

  Result<void> clear(const std::string& key) {
    const auto now = begin(true);
    if (!now) return std::unexpected(now.error());
    const auto slot = open(row_name(key), *now);
    if (!slot) return std::unexpected(slot.error());
    (*slot)->second.row = VendorRow{};
    rows_.mark(**slot);
    return {};
  }

  Result<WallTime> begin(bool to_write) {
    const auto begun = to_write ? database_.begin_write() : database_.begin_read();
    if (!begun) return std::unexpected(begun.error());
    rows_.trim();
    return clock_.now();
  }

  Result<Rows::Slot*> open(const std::string& name, WallTime now) {
    auto slot = rows_.open(name, [&](VendorRow& row) { return load(name, row); });
    if (slot && (*slot)->second.row.expires <= now) (*slot)->second.row = VendorRow{};
    return slot;
  }

  Result<void> load(const std::string& name, VendorRow& row) {
    sqlite::Statement& select = database_.statement(kSelect).bind(name);
    const auto found = select.step();
    if (!found) return std::unexpected(found.error());
    if (!*found) return {};
    const WallTime expires = from_us(select.integer(1));
    auto state = core::decode_vendor(select.bytes(0));
    select.reset();
    if (!state) return std::unexpected(std::move(state).error());
    row = {.state = *std::move(state), .expires = expires};
    return {};
  }

  Result<void> write(const std::string& name, const VendorRow& row) {
    if (row.expires == kLongAgo) return database_.statement(kDelete).bind(name).run();
    const std::string state = core::encode(row.state);
    return database_.statement(kWrite).bind(name, sqlite::Blob{state}, to_us(row.expires)).run();
  }

  Result<void> flush() override {
    const std::size_t rows = rows_.dirty();
    if (rows == 0) return {};
    if (auto done = rows_.flush([this](const auto& name, const auto& row) { return write(name, row); });
        !done)
      return done;
    if (auto kept = clock_.keep(); !kept) return kept;
    return sweeper_.sweep(clock_.latest(), rows);
  }
  void forget() override {
    rows_.forget();
    clock_.forget();
  }

  sqlite::Database& database_;
  FileClock clock_;
  Rows rows_;
  RoundSweeper sweeper_;
};

}  // namespace

std::unique_ptr<VendorStore> make_sqlite_vendor_store(sqlite::Database& database, Clock& clock) {
  return std::make_unique<SqliteVendorStore>(database, clock);
}

}  // namespace dripgate::store
