// Turns, participants, statements, checkpoints.
#include "sqlite/database.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <sqlite3.h>

#include "sqlite/connection.h"
#include "sqlite/owner_lock.h"
#include "sqlite/space.h"

namespace dripgate::sqlite {
namespace {

/// The log is copied back when it holds this many pages (4 MiB).
constexpr int kCheckpointFrames = 1000;
/// A log that grew past this (a reader held it) is cut back once it is copied.
constexpr int kLogFramesMax = 16 * kCheckpointFrames;

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

// Only a wrong text aborts; a damaged file or a lack of memory makes a statement that fails with the reason.
std::pair<sqlite3_stmt*, int> prepare(sqlite3* handle, const char* sql) {
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v3(handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if ((code & 0xff) == SQLITE_ERROR) {
    std::fprintf(stderr, "dripgate: cannot prepare '%s': %s\n", sql, sqlite3_errmsg(handle));
    std::abort();
  }
  return {prepared, code};
}

}  // namespace

struct Database::Impl {
  Impl(std::unique_ptr<OwnerLock> taken, Connection opened, const Options& options)
      : lock(std::move(taken)),
        connection(std::move(opened)),
        handle(connection.get()),
        space(handle, options),
        data_version(handle, nullptr, &failure, SQLITE_NOMEM) {
    data_version.adopt(prepare(handle, "PRAGMA data_version"));
    sqlite3_wal_hook(
        handle,
        [](void* self, sqlite3*, const char*, int frames) {
          static_cast<Impl*>(self)->log_frames = frames;
          return SQLITE_OK;
        },
        this);
  }

  Statement& statement(const char* sql);
  Result<void> notice_other_commits();
  void forget();
  Result<void> commit();
  Result<void> roll_back();
  Result<void> finish();
  void run_callbacks(const Result<void>& outcome);
  void copy_log_back();

  std::unique_ptr<OwnerLock> lock;  // given back after the connection is closed
  Connection connection;
  sqlite3* handle;
  Space space;
  std::unordered_map<std::string, std::unique_ptr<Statement>, TextHash, std::equal_to<>> statements;
  std::vector<Participant*> participants;
  std::vector<Done<void>> callbacks;
  std::optional<Error> failure;  // the turn is void
  Statement data_version;
  std::int64_t seen_version = 0;
  bool open = false;  // the turn has written
  bool space_asked = false;
  int log_frames = 0;
  int copy_at_frames = kCheckpointFrames;
};

Statement& Database::Impl::statement(const char* sql) {
  auto found = statements.find(std::string_view(sql));
  if (found == statements.end()) {
    auto made = std::make_unique<Statement>(handle, nullptr, &failure, SQLITE_NOMEM);
    found = statements.emplace(sql, std::move(made)).first;
  }
  if (!found->second->is_prepared()) found->second->adopt(prepare(handle, sql));
  return *found->second;
}

void Database::Impl::forget() {
  for (std::size_t i = 0; i < participants.size(); ++i) participants[i]->forget();
}

Result<void> Database::Impl::notice_other_commits() {
  const Result<bool> row = data_version.step();
  if (!row) return std::unexpected(row.error());
  const std::int64_t version = data_version.integer(0);
  data_version.reset();
  if (std::exchange(seen_version, version) != version) forget();
  return {};
}

Result<void> Database::Impl::commit() {
  for (std::size_t i = 0; i < participants.size() && !failure; ++i) {
    if (Result<void> flushed = participants[i]->flush(); !flushed && !failure) failure = flushed.error();
  }
  if (failure) return std::unexpected(*failure);
  if (Result<void> grown = space.reserve_growth(); !grown) return grown;
  return statement("COMMIT").run();
}

Result<void> Database::Impl::roll_back() {
  Error error = std::move(*failure);
  for (auto& [text, cached] : statements) cached->reset();
  // SQLite has rolled back by itself after some errors.
  if (sqlite3_get_autocommit(handle) == 0) (void)statement("ROLLBACK").run();
  failure.reset();
  forget();
  if (error.code == ErrorCode::full) space.on_full();
  return std::unexpected(std::move(error));
}

Result<void> Database::Impl::finish() {
  if (open && !failure) {
    if (Result<void> committed = commit(); !committed) failure = committed.error();
  }
  open = false;
  if (failure) return roll_back();
  return {};
}

void Database::Impl::run_callbacks(const Result<void>& outcome) {
  for (Done<void>& done : std::exchange(callbacks, {})) done(outcome);
}

// PASSIVE: readers are not waited for. A failure costs nothing but a longer log; it is tried again later.
void Database::Impl::copy_log_back() {
  if (log_frames < copy_at_frames) {
    copy_at_frames = std::min(copy_at_frames, log_frames + kCheckpointFrames);
    return;
  }
  const bool cut = log_frames > kLogFramesMax;
  const int mode = cut ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  int total = 0;
  int copied = 0;
  const int code = sqlite3_wal_checkpoint_v2(handle, "main", mode, &total, &copied);
  const bool whole = code == SQLITE_OK && total == copied;
  copy_at_frames = whole ? kCheckpointFrames : log_frames + kCheckpointFrames;
  if (cut && whole) space.reserve_log();
  log_frames = 0;
}

Database::Database(std::string path) : path_(std::move(path)) {}
Database::~Database() = default;

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Options options) {
  auto lock = std::make_unique<OwnerLock>();
  if (options.exclusive_owner && path != ":memory:" && options.vfs.empty()) {
    if (Result<void> taken = lock->take(path); !taken) return std::unexpected(taken.error());
  }
  Result<Connection> connection = open_connection(path, options);
  if (!connection) return std::unexpected(connection.error());
  std::unique_ptr<Database> database(new Database(path));
  database->handle_ = connection->get();
  database->impl_ = std::make_unique<Impl>(std::move(lock), std::move(*connection), options);
  if (Result<void> ready = database->impl_->space.prepare(); !ready) return std::unexpected(ready.error());
  if (Result<void> seen = database->impl_->notice_other_commits(); !seen)
    return std::unexpected(seen.error());
  return database;
}

Result<void> Database::begin_write() {
  if (impl_->failure) return std::unexpected(*impl_->failure);
  if (impl_->open) return {};
  if (Result<void> begun = impl_->statement("BEGIN IMMEDIATE").run(); !begun) return begun;
  impl_->open = true;
  return impl_->notice_other_commits();
}

Result<void> Database::begin_read() {
  if (impl_->failure) return std::unexpected(*impl_->failure);
  if (impl_->open) return {};
  return impl_->notice_other_commits();
}

void Database::after_commit(Done<void> done) {
  impl_->callbacks.push_back(std::move(done));
}

Result<void> Database::end_turn() {
  Result<void> first;
  for (int round = 0; round < kCommitRoundsMax; ++round) {
    if (!impl_->open && !impl_->failure && impl_->callbacks.empty()) break;
    const Result<void> outcome = impl_->finish();
    if (!outcome && first) first = outcome;
    impl_->run_callbacks(outcome);
  }
  if (impl_->open || impl_->failure) return first;
  if (std::exchange(impl_->space_asked, false)) impl_->space.try_to_recover();
  impl_->copy_log_back();
  return first;
}

bool Database::low_on_space() {
  impl_->space_asked = true;
  return impl_->space.low();
}

void Database::join(Participant* participant) {
  impl_->participants.push_back(participant);
}

void Database::leave(Participant* participant) {
  std::erase(impl_->participants, participant);
}

Statement& Database::statement(const char* sql) {
  return impl_->statement(sql);
}

}  // namespace dripgate::sqlite
