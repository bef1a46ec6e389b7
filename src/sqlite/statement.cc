// Statement and the translation of SQLite's codes.
#include "sqlite/statement.h"

#include <cerrno>

#include <sqlite3.h>

namespace dripgate::sqlite {
namespace {

struct Meaning {
  ErrorCode code;
  bool transient;
  const char* advice;
};

Meaning meaning_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {ErrorCode::full, true, "no space is left: free some on its disk, or raise the bound"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::corrupt, false, "the file is damaged: restore it from a backup"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::locked, true, "another connection holds the file"};
    case SQLITE_TOOBIG:
      return {ErrorCode::too_large, false, "a value is larger than a row may be"};
    case SQLITE_CONSTRAINT:
      return {ErrorCode::conflict, false, "a row contradicts the schema"};
    case SQLITE_NOMEM:
      return {ErrorCode::unavailable, true, "out of memory"};
    case SQLITE_INTERRUPT:
      return {ErrorCode::cancelled, true, "interrupted"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return {ErrorCode::io, false, "the file and its directory must be writable"};
    case SQLITE_IOERR:
      return {ErrorCode::io, true, "reading or writing the disk failed"};
    default:
      return {ErrorCode::io, false, "SQLite refused the call"};
  }
}

// A quota that is used up looks like an I/O error to SQLite.
bool is_quota(sqlite3* handle, int code) {
  if ((code & 0xff) != SQLITE_IOERR || handle == nullptr) return false;
  const int number = sqlite3_system_errno(handle);
  return number == EDQUOT || number == ENOSPC;
}

}  // namespace

Error to_error(sqlite3* handle, int code) {
  const Meaning meaning = meaning_of(is_quota(handle, code) ? SQLITE_FULL : code);
  const char* name = handle == nullptr ? nullptr : sqlite3_db_filename(handle, "main");
  const bool has_words = handle != nullptr && (sqlite3_errcode(handle) & 0xff) == (code & 0xff);
  std::string detail = name == nullptr || *name == '\0' ? "the database in memory" : name;
  detail.append(": ").append(meaning.advice).append(" (SQLite: ");
  detail.append(has_words ? sqlite3_errmsg(handle) : sqlite3_errstr(code)).append(")");
  return Error{meaning.code, meaning.transient, std::move(detail)};
}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

Error Statement::failed(int code) {
  Error error = to_error(handle_, code);
  if (failure_ != nullptr && !failure_->has_value()) *failure_ = error;
  return error;
}

Result<void> Statement::run() {
  const Result<bool> row = step();
  if (!row) return std::unexpected(row.error());
  reset();
  return {};
}

Result<bool> Statement::step() {
  if (statement_ == nullptr) return std::unexpected(failed(code_));
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_);
    return false;
  }
  Error error = failed(sqlite3_extended_errcode(handle_));
  sqlite3_reset(statement_);
  return std::unexpected(std::move(error));
}

void Statement::reset() {
  sqlite3_reset(statement_);
}

std::int64_t Statement::changed_rows() const {
  return sqlite3_changes64(handle_);
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Statement::bytes(int column) const {
  const void* start = sqlite3_column_blob(statement_, column);
  if (start == nullptr) return {};
  return {static_cast<const char*>(start),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

void Statement::bind_one(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_, index, value);
}

// A null pointer would bind NULL: empty is not nothing.
void Statement::bind_one(int index, std::string_view value) {
  sqlite3_bind_text64(statement_, index, value.data() == nullptr ? "" : value.data(), value.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
}

void Statement::bind_one(int index, Blob value) {
  sqlite3_bind_blob64(statement_, index, value.bytes.data() == nullptr ? "" : value.bytes.data(),
                      value.bytes.size(), SQLITE_STATIC);
}

}  // namespace dripgate::sqlite
