#include "app/disk_room.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <sys/statvfs.h>

namespace dripgate::app {

DiskRoom::DiskRoom(const std::string& database) {
  if (database == ":memory:") return;
  folder_ = std::filesystem::absolute(database).parent_path().string();
}

Result<void> DiskRoom::admit(std::uint64_t bytes) const {
  struct statvfs disk{};
  if (folder_.empty() || ::statvfs(folder_.c_str(), &disk) != 0) return {};
  const std::uint64_t total = std::uint64_t{disk.f_blocks} * disk.f_frsize;
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::uint64_t reserve = std::clamp(total / 16, kDiskReserveMin, kDiskReserveMax);
  if (free >= reserve + bytes * kDiskBytesPerIngestByte) return {};
  return fail(ErrorCode::full,
              fmt::format("{} has {} MiB left and {} MiB are kept for events already booked: free some space",
                          folder_, free >> 20, reserve >> 20),
              true);
}

}  // namespace dripgate::app
