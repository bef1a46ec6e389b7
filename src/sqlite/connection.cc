// The steps of opening: look, open, identify, create or migrate, switch to WAL, check.
#include "sqlite/connection.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "sqlite/file_check.h"
#include "sqlite/schema.h"

namespace dripgate::sqlite {
namespace {

// Payloads are nobody else's business; SQLite gives its log and journal the mode of the database. O_EXCL:
// only a file that nobody has open is opened past SQLite.
void create_private(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor >= 0) ::close(descriptor);
}

Result<Connection> open_handle(const std::string& path, const Options& options) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, flags, options.vfs.empty() ? nullptr : options.vfs.c_str());
  Connection connection(handle);
  if (code == SQLITE_OK) return connection;
  Error error = to_error(handle, code);
  error.detail = path + ": cannot be opened: " + error.detail;
  return std::unexpected(std::move(error));
}

Result<void> configure(sqlite3* handle, const Options& options) {
  sqlite3_busy_timeout(handle, static_cast<int>(options.busy_wait / 1ms));
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // Until the file is known to be ours, closing it must not copy its log.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // EXTRA: as FULL for the log, and the journal of the creation is durably gone before the log begins.
  const std::string sql = "PRAGMA page_size=" + std::to_string(kPageBytes) +
                          "; PRAGMA auto_vacuum=NONE; PRAGMA synchronous=EXTRA; PRAGMA secure_delete=OFF;"
                          "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-" +
                          std::to_string(kCacheBytes / 1024) + "; PRAGMA wal_autocheckpoint=0";
  return execute(handle, sql.c_str());
}

Result<void> identify(sqlite3* handle, const std::string& path) {
  const Result<std::int64_t> id = query_integer(handle, "PRAGMA application_id");
  if (!id) return std::unexpected(id.error());
  const Result<std::int64_t> version = query_integer(handle, "PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  if (Result<void> known = check_identity(path, *id, *version); !known) return known;
  if (*version == kSchemaVersion) return {};
  return migrate(handle, static_cast<int>(*version), kSchemaVersion, migrations());
}

Result<void> create_or_identify(sqlite3* handle, const std::string& path) {
  Result<std::int64_t> pages = query_integer(handle, "PRAGMA page_count");
  if (!pages) return std::unexpected(pages.error());
  if (*pages == 0) {
    const Result<void> created = create_schema(handle);
    // Another process may have been faster: then there is a file to identify.
    pages = query_integer(handle, "PRAGMA page_count");
    if (!created && (!pages || *pages == 0)) return created;
  }
  return identify(handle, path);
}

Result<void> use_log(sqlite3* handle, const std::string& path) {
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v2(handle, "PRAGMA journal_mode=WAL", -1, &prepared, nullptr);
  Statement statement(handle, prepared, nullptr, code);
  const Result<bool> row = statement.step();
  if (!row) return std::unexpected(row.error());
  const std::string_view mode = statement.bytes(0);
  if (mode == "wal" || (path == ":memory:" && mode == "memory")) return {};
  return fail(ErrorCode::io, path +
                                 ": its file system cannot hold a write-ahead log (shared memory is "
                                 "missing): put it on a local disk");
}

Result<void> check_contents(sqlite3* handle, const std::string& path) {
  if (sqlite3_db_readonly(handle, "main") == 1) {
    return fail(ErrorCode::io, path + ": may only be read: the file and its directory must be writable");
  }
  const Result<std::int64_t> pages = query_integer(handle, "PRAGMA page_count");
  if (!pages) return std::unexpected(pages.error());
  if (*pages * kPageBytes <= kOpenCheckBytesMax) {
    sqlite3_stmt* prepared = nullptr;
    const int code = sqlite3_prepare_v2(handle, "PRAGMA quick_check(1)", -1, &prepared, nullptr);
    Statement statement(handle, prepared, nullptr, code);
    const Result<bool> row = statement.step();
    if (!row) return std::unexpected(row.error());
    const std::string words(statement.bytes(0));
    if (words != "ok")
      return fail(ErrorCode::corrupt, path + ": damaged: restore it from a backup (" + words + ")");
  }
  return verify_schema(handle);
}

}  // namespace

void CloseConnection::operator()(sqlite3* handle) const {
  sqlite3_close(handle);
}

Result<Connection> open_connection(const std::string& path, const Options& options) {
  const bool in_memory = path == ":memory:";
  if (!in_memory) {
    if (Result<void> fine = check_file(path, options.vfs); !fine) return std::unexpected(fine.error());
    if (options.vfs.empty()) create_private(path);
  }
  Result<Connection> connection = open_handle(path, options);
  if (!connection) return connection;
  sqlite3* handle = connection->get();
  if (Result<void> set = configure(handle, options); !set) return std::unexpected(set.error());
  if (Result<void> ours = create_or_identify(handle, path); !ours) return std::unexpected(ours.error());
  if (Result<void> log = use_log(handle, path); !log) return std::unexpected(log.error());
  if (Result<void> whole = check_contents(handle, path); !whole) return std::unexpected(whole.error());
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  return connection;
}

}  // namespace dripgate::sqlite
