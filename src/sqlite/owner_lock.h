// OwnerLock: at most one process owns a database. The lock is on the file itself, so that every name of it (a
// link, another folder) meets the same lock; flock and SQLite's own locks do not see each other. The kernel
// gives it back when the owner ends, however it ends. Held longer than any connection of this process:
// closing a descriptor of a file drops the locks that SQLite has on it.
#pragma once

#include <string>

#include "base/result.h"

namespace dripgate::sqlite {

class OwnerLock {
 public:
  OwnerLock() = default;
  ~OwnerLock();
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;

  /// Creates the file if need be and takes it. Error: locked; io; invalid_argument: it has other hard links,
  /// under which its log would not be found.
  Result<void> take(const std::string& database);

 private:
  int descriptor_ = -1;
};

}  // namespace dripgate::sqlite
