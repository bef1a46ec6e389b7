// OwnerLock over flock(2).
#include "sqlite/owner_lock.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace dripgate::sqlite {

OwnerLock::~OwnerLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> OwnerLock::take(const std::string& database) {
  const std::string path = database + ".lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) {
    return fail(ErrorCode::io, path + ": cannot be created (" + std::strerror(errno) +
                                   "): the database's directory must exist and be writable");
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return fail(ErrorCode::io, path + ": cannot be locked: " + std::strerror(errno));
  return fail(ErrorCode::locked,
              database + ": another Dripgate process owns it: stop that one, or name another file", true);
}

}  // namespace dripgate::sqlite
