// DDL, versions, migration.
#include "sqlite/schema.h"

#include <array>
#include <string>

#include <sqlite3.h>

#include "sqlite/statement.h"

namespace dripgate::sqlite {
namespace {

struct Object {
  const char* name;
  const char* sql;  // as sqlite_schema keeps it, character for character
};

constexpr std::array kObjects{
    // store: one row per counter, booking key and event; `expires` in us since 1970.
    Object{"counters",
           "CREATE TABLE counters(key TEXT PRIMARY KEY, state BLOB NOT NULL, expires INTEGER NOT NULL) "
           "WITHOUT ROWID"},
    Object{"booking_keys",
           "CREATE TABLE booking_keys(key TEXT PRIMARY KEY, state BLOB NOT NULL, expires INTEGER NOT NULL) "
           "WITHOUT ROWID"},
    Object{"events",
           "CREATE TABLE events(stream TEXT NOT NULL, id TEXT NOT NULL, key TEXT NOT NULL, record BLOB NOT "
           "NULL, "
           "expires INTEGER NOT NULL, PRIMARY KEY(stream, id)) WITHOUT ROWID"},
    Object{"events_by_expiry", "CREATE INDEX events_by_expiry ON events(expires)"},
    // broker: names of topics, timers and dead-letter lists, with the next position of each.
    Object{"scopes",
           "CREATE TABLE scopes(number INTEGER PRIMARY KEY, kind INTEGER NOT NULL, name TEXT NOT NULL, next "
           "INTEGER NOT NULL)"},
    Object{"scopes_by_name", "CREATE UNIQUE INDEX scopes_by_name ON scopes(kind, name)"},
    // The body stands last: everything else is read without following overflow pages.
    Object{
        "messages",
        "CREATE TABLE messages(seq INTEGER PRIMARY KEY, topic INTEGER NOT NULL, id TEXT NOT NULL, published "
        "INTEGER NOT NULL, attributes BLOB NOT NULL, body BLOB NOT NULL)"},
    Object{"messages_by_id", "CREATE UNIQUE INDEX messages_by_id ON messages(topic, id)"},
    Object{
        "timers",
        "CREATE TABLE timers(seq INTEGER PRIMARY KEY, stream INTEGER NOT NULL, due INTEGER NOT NULL, id TEXT "
        "NOT NULL, message_id TEXT NOT NULL, published INTEGER NOT NULL, attributes BLOB NOT NULL, body BLOB "
        "NOT NULL)"},
    Object{"timers_by_id", "CREATE UNIQUE INDEX timers_by_id ON timers(stream, id)"},
    Object{"timers_by_due", "CREATE INDEX timers_by_due ON timers(stream, due, seq)"},
    Object{
        "dead_letters",
        "CREATE TABLE dead_letters(seq INTEGER PRIMARY KEY, topic INTEGER NOT NULL, event_id TEXT NOT NULL, "
        "generation INTEGER NOT NULL, key TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL, "
        "first_received INTEGER NOT NULL, dead_at INTEGER NOT NULL, attempts INTEGER NOT NULL, message_id "
        "TEXT NOT NULL, published INTEGER NOT NULL, attributes BLOB NOT NULL, body BLOB NOT NULL)"},
    Object{"dead_letters_by_event",
           "CREATE INDEX dead_letters_by_event ON dead_letters(topic, event_id, generation)"},
    Object{"dead_letters_by_age", "CREATE INDEX dead_letters_by_age ON dead_letters(topic, dead_at)"},
    // Space kept for a full disk (sqlite/space.h).
    Object{"ballast", "CREATE TABLE ballast(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)"},
};

Result<void> in_transaction(sqlite3* handle, const std::string& sql) {
  Result<void> done = execute(handle, sql.c_str());
  if (done) return done;
  if (sqlite3_get_autocommit(handle) == 0) (void)execute(handle, "ROLLBACK");
  return done;
}

std::string set_version(int version) {
  return "PRAGMA user_version=" + std::to_string(version) + ";";
}

}  // namespace

Result<void> execute(sqlite3* handle, const char* sql) {
  const int code = sqlite3_exec(handle, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(to_error(handle, sqlite3_extended_errcode(handle)));
  return {};
}

Result<std::int64_t> query_integer(sqlite3* handle, const char* sql) {
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v2(handle, sql, -1, &prepared, nullptr);
  Statement statement(handle, prepared);
  if (code != SQLITE_OK) return std::unexpected(to_error(handle, sqlite3_extended_errcode(handle)));
  const Result<bool> row = statement.step();
  if (!row) return std::unexpected(row.error());
  return *row ? statement.integer(0) : 0;
}

Result<void> create_schema(sqlite3* handle) {
  std::string sql = "BEGIN EXCLUSIVE; PRAGMA application_id=" + std::to_string(kApplicationId) + ";";
  sql += set_version(kSchemaVersion);
  for (const Object& object : kObjects) sql.append(object.sql).append(";");
  return in_transaction(handle, sql + "COMMIT");
}

std::span<const Migration> migrations() {
  return {};  // version 1 is the first
}

Result<void> migrate(sqlite3* handle, int version, int target, std::span<const Migration> steps) {
  std::string sql = "BEGIN EXCLUSIVE;";
  for (; version < target; ++version) {
    const char* step = nullptr;
    for (const Migration& candidate : steps) {
      if (candidate.from == version) step = candidate.sql;
    }
    if (step == nullptr) {
      return fail(ErrorCode::corrupt, std::string(sqlite3_db_filename(handle, "main")) + ": schema version " +
                                          std::to_string(version) + " was never released: restore a backup");
    }
    sql.append(step).append(";");
  }
  return in_transaction(handle, sql + set_version(target) + "COMMIT");
}

Result<void> verify_schema(sqlite3* handle) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(handle, "SELECT 1 FROM sqlite_schema WHERE name=? AND sql=?", -1, &prepared,
                         nullptr) != SQLITE_OK) {
    return std::unexpected(to_error(handle, sqlite3_extended_errcode(handle)));
  }
  Statement statement(handle, prepared);
  for (const Object& object : kObjects) {
    const Result<bool> row = statement.bind(object.name, object.sql).step();
    if (!row) return std::unexpected(row.error());
    if (!*row) {
      return fail(ErrorCode::corrupt, std::string(sqlite3_db_filename(handle, "main")) + ": table or index " +
                                          object.name + " is damaged: restore the file from a backup");
    }
  }
  return {};
}

}  // namespace dripgate::sqlite
