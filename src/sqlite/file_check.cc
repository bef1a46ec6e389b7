// Reads the first bytes through the VFS: SQLite's own way to a file is the only one that keeps the POSIX
// locks of other connections of this process.
#include "sqlite/file_check.h"

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <sqlite3.h>

#include "sqlite/schema.h"

namespace dripgate::sqlite {
namespace {

constexpr std::size_t kHeaderBytes = 100;  // sqlite.org/fileformat2.html, section 1.3
constexpr std::size_t kVersionOffset = 60;
constexpr std::size_t kApplicationIdOffset = 68;
constexpr char kMagic[] = "SQLite format 3";

struct Header {
  sqlite3_int64 file_bytes = 0;
  std::array<unsigned char, kHeaderBytes> bytes{};

  [[nodiscard]] std::int32_t big_endian(std::size_t at) const {
    return static_cast<std::int32_t>(std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
                                     std::uint32_t{bytes[at + 2]} << 8 | std::uint32_t{bytes[at + 3]});
  }
};

bool read_header(sqlite3_vfs* vfs, const char* name, Header& header) {
  // max_align_t: a VFS puts pointers and 64-bit numbers into its file objects.
  std::vector<std::max_align_t> storage(static_cast<std::size_t>(vfs->szOsFile) / sizeof(std::max_align_t) +
                                        1);
  auto* file = reinterpret_cast<sqlite3_file*>(storage.data());
  file->pMethods = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
  int ignored = 0;
  const bool opened = vfs->xOpen(vfs, name, file, flags, &ignored) == SQLITE_OK;
  bool read = opened && file->pMethods->xFileSize(file, &header.file_bytes) == SQLITE_OK;
  if (read && header.file_bytes >= static_cast<sqlite3_int64>(kHeaderBytes)) {
    read = file->pMethods->xRead(file, header.bytes.data(), kHeaderBytes, 0) == SQLITE_OK;
  }
  if (file->pMethods != nullptr) file->pMethods->xClose(file);
  return read;
}

bool exists(sqlite3_vfs* vfs, const std::string& path) {
  int result = 0;
  return vfs->xAccess(vfs, path.c_str(), SQLITE_ACCESS_EXISTS, &result) == SQLITE_OK && result != 0;
}

}  // namespace

Result<void> check_identity(const std::string& path, std::int64_t application_id, std::int64_t version) {
  if (application_id != kApplicationId) {
    return fail(ErrorCode::invalid_argument,
                path + ": this SQLite database belongs to another program: name another file");
  }
  if (version > kSchemaVersion) {
    return fail(ErrorCode::newer_version, path + ": written by a newer Dripgate (schema version " +
                                              std::to_string(version) + ", this one knows up to " +
                                              std::to_string(kSchemaVersion) + "): run that one");
  }
  if (version < 1)
    return fail(ErrorCode::corrupt, path + ": its schema version is damaged: restore a backup");
  return {};
}

Result<void> check_file(const std::string& path, const std::string& vfs_name) {
  sqlite3_vfs* vfs = sqlite3_vfs_find(vfs_name.empty() ? nullptr : vfs_name.c_str());
  if (vfs == nullptr) return fail(ErrorCode::invalid_argument, "no SQLite VFS is named '" + vfs_name + "'");
  std::string full(static_cast<std::size_t>(vfs->mxPathname) + 1, '\0');
  if (vfs->xFullPathname(vfs, path.c_str(), static_cast<int>(full.size()), full.data()) != SQLITE_OK)
    return {};
  full.resize(std::strlen(full.c_str()));
  if (exists(vfs, full + "-journal")) return {};
  // A VFS calls an empty file absent. SQLite would remove the log, and every confirmed turn in it.
  if (!exists(vfs, full) && exists(vfs, full + "-wal")) {
    return fail(ErrorCode::corrupt, path + ": missing or empty, although its log (" + path +
                                        "-wal) is there: restore a backup, or remove the log to start anew");
  }
  using FileName =
      std::unique_ptr<const char, decltype([](const char* name) { sqlite3_free_filename(name); })>;
  const FileName name(sqlite3_create_filename(full.c_str(), "", "", 0, nullptr));
  Header header;
  if (name == nullptr || !exists(vfs, full) || !read_header(vfs, name.get(), header)) return {};
  if (header.file_bytes == 0) return {};
  if (header.file_bytes < static_cast<sqlite3_int64>(kHeaderBytes) ||
      std::memcmp(header.bytes.data(), kMagic, sizeof kMagic) != 0) {
    return fail(ErrorCode::corrupt, path +
                                        ": not a SQLite database, or its first page is damaged: restore a "
                                        "backup, or name another file");
  }
  return check_identity(path, header.big_endian(kApplicationIdOffset), header.big_endian(kVersionOffset));
}

}  // namespace dripgate::sqlite
