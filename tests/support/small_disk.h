// A file system of a few MiB in memory, for tests of full and read-only disks. Mounting needs root: without
// it the disk is not there and the test says so and skips.
#pragma once

#include <filesystem>
#include <string>

#include <sys/mount.h>

#include "support/scratch_folder.h"

namespace dripgate::testing {

class SmallDisk {
 public:
  explicit SmallDisk(const std::string& size) : mount_point_(folder_.path("disk")) {
    std::filesystem::create_directory(mount_point_);
    mounted_ = ::mount("tmpfs", mount_point_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(mount_point_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool is_there() const { return mounted_; }
  [[nodiscard]] bool make_read_only() const {
    return ::mount("tmpfs", mount_point_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0;
  }
  [[nodiscard]] std::string path(const std::string& name) const { return mount_point_ + "/" + name; }

 private:
  ScratchFolder folder_;
  std::string mount_point_;
  bool mounted_ = false;
};

}  // namespace dripgate::testing
