// OwnerLock over flock(2).
#include "sqlite/owner_lock.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dripgate::sqlite {

OwnerLock::~OwnerLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> OwnerLock::take(const std::string& database) {
  descriptor_ = ::open(database.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) {
    return fail(ErrorCode::io, database + ": cannot be opened or created (" + std::strerror(errno) +
                                   "): its directory must exist, and both must be writable");
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return fail(ErrorCode::io, database + ": cannot be locked: " + std::strerror(errno));
    }
    return fail(ErrorCode::locked,
                database + ": another Dripgate process owns it: stop that one, or name another file", true);
  }
  struct stat status{};
  if (::fstat(descriptor_, &status) == 0 && status.st_nlink > 1) {
    return fail(ErrorCode::invalid_argument,
                database + ": it has other hard links, and its log belongs to one name: remove the others");
  }
  return {};
}

}  // namespace dripgate::sqlite
