// Opens and judges the file, and sets up the connection: everything between a path and a handle that
// Database can write through.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "sqlite/database.h"

struct sqlite3;

namespace dripgate::sqlite {

struct CloseConnection {
  void operator()(sqlite3* handle) const;
};
using Connection = std::unique_ptr<sqlite3, CloseConnection>;

/// Files up to this size are read through at open; damage in larger ones is found where it is read.
inline constexpr std::int64_t kOpenCheckBytesMax = 256 << 20;
inline constexpr int kPageBytes = 4096;
/// Page cache of one connection.
inline constexpr int kCacheBytes = 8 << 20;

[[nodiscard]] Result<Connection> open_connection(const std::string& path, const Options& options);

}  // namespace dripgate::sqlite
