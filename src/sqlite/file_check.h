// Looks at a file before SQLite opens it, so that what is not ours stays untouched: opening a database can
// roll back a journal or copy a log. Used by open_connection.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dripgate::sqlite {

/// Error: corrupt (not a database, torn header), invalid_argument (a database of another program),
/// newer_version. A missing or empty file is fine, and so is one whose creation was cut short (its rollback
/// journal is still there).
[[nodiscard]] Result<void> check_file(const std::string& path, const std::string& vfs);

/// The same judgement on values that SQLite itself has read.
[[nodiscard]] Result<void> check_identity(const std::string& path, std::int64_t application_id,
                                          std::int64_t version);

}  // namespace dripgate::sqlite
