// Allocation ahead and the ballast.
#include "sqlite/space.h"

#include <algorithm>
#include <string>

#include <sqlite3.h>

#include "sqlite/connection.h"
#include "sqlite/schema.h"

namespace dripgate::sqlite {
namespace {

sqlite3_stmt* prepare_page_count(sqlite3* handle) {
  sqlite3_stmt* prepared = nullptr;
  sqlite3_prepare_v3(handle, "PRAGMA page_count", -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  return prepared;
}

}  // namespace

Space::Space(sqlite3* handle, const Options& options)
    : handle_(handle),
      max_pages_(options.max_bytes / kPageBytes),
      ballast_bytes_(options.max_bytes > 0
                         ? std::min(options.ballast_bytes, options.max_bytes / kBallastShareMin)
                         : options.ballast_bytes),
      page_count_(handle, prepare_page_count(handle), nullptr, SQLITE_NOMEM) {}

Result<void> Space::prepare() {
  if (max_pages_ > 0) {
    const std::string bound = "PRAGMA max_page_count=" + std::to_string(max_pages_);
    if (Result<void> set = execute(handle_, bound.c_str()); !set) return set;
  }
  int keep = 1;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
  int step = kFileStepBytes;
  can_allocate_ = sqlite3_file_control(handle_, "main", SQLITE_FCNTL_CHUNK_SIZE, &step) == SQLITE_OK;
  reserve_log();
  if (ballast_bytes_ <= 0) return {};
  const Result<std::int64_t> there = query_integer(handle_, "SELECT COUNT(*) FROM ballast");
  if (!there) return std::unexpected(there.error());
  if (*there > 0) return {};
  low_ = true;
  try_to_recover();
  return {};
}

void Space::reserve_log() {
  sqlite3_file* log = nullptr;
  if (!can_allocate_ ||
      sqlite3_file_control(handle_, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&log)) !=
          SQLITE_OK ||
      log == nullptr || log->pMethods == nullptr) {
    return;
  }
  int step = kFileStepBytes;
  sqlite3_int64 bytes = kLogReserveBytes;
  log->pMethods->xFileControl(log, SQLITE_FCNTL_CHUNK_SIZE, &step);
  log->pMethods->xFileControl(log, SQLITE_FCNTL_SIZE_HINT, &bytes);  // a full disk: reserved at a later start
}

Result<std::int64_t> Space::pages(const char* pragma) {
  return query_integer(handle_, pragma);
}

bool Space::grow_to(std::int64_t bytes) {
  if (!can_allocate_ || bytes <= allocated_bytes_) return true;
  sqlite3_int64 hint = bytes;
  if (sqlite3_file_control(handle_, "main", SQLITE_FCNTL_SIZE_HINT, &hint) != SQLITE_OK) return false;
  allocated_bytes_ = (bytes + kFileStepBytes - 1) / kFileStepBytes * kFileStepBytes;
  return true;
}

Result<void> Space::reserve_growth() {
  if (!can_allocate_) return {};
  const Result<bool> row = page_count_.step();
  if (!row) return std::unexpected(row.error());
  const std::int64_t count = page_count_.integer(0);
  page_count_.reset();
  if (grow_to(count * kPageBytes)) return {};
  return std::unexpected(to_error(handle_, SQLITE_FULL));
}

void Space::on_full() {
  low_ = true;
  // Freed pages are not written, so this needs a few frames of the log that is allocated ahead.
  (void)execute(handle_, "DELETE FROM ballast");
}

bool Space::has_room(std::int64_t ballast_pages) {
  const Result<std::int64_t> free = pages("PRAGMA freelist_count");
  if (!free) return false;
  if (*free >= kRoomyFactor * ballast_pages) return true;
  const Result<std::int64_t> count = pages("PRAGMA page_count");
  if (!count) return false;
  const std::int64_t wanted = *count + kRoomyFactor * ballast_pages - *free;
  return (max_pages_ == 0 || wanted <= max_pages_) && grow_to(wanted * kPageBytes);
}

bool Space::lay_ballast() {
  const std::string sql = "BEGIN IMMEDIATE; DELETE FROM ballast; INSERT INTO ballast VALUES(1, zeroblob(" +
                          std::to_string(ballast_bytes_) + "));";
  if (execute(handle_, sql.c_str()) && reserve_growth() && execute(handle_, "COMMIT")) return true;
  if (sqlite3_get_autocommit(handle_) == 0) (void)execute(handle_, "ROLLBACK");
  return false;
}

void Space::try_to_recover() {
  if (!low_) return;
  const std::int64_t ballast_pages = ballast_bytes_ / kPageBytes + 1;
  if (!has_room(ballast_pages) || !lay_ballast()) return;
  reserve_log();
  low_ = false;
}

}  // namespace dripgate::sqlite
