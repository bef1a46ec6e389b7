// OwnerLock: the lock file beside the database; at most one process owns the file. The kernel gives it back
// when the owner ends, however it ends. The file itself stays: removing it would let two owners hold two
// files.
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

  /// Takes `<database>.lock`. Error: locked, io.
  Result<void> take(const std::string& database);

 private:
  int descriptor_ = -1;
};

}  // namespace dripgate::sqlite
