// DiskRoom: keeps the last of the disk for what is already booked. New events are refused while the free
// space is below a reserve, so that dispatch, which must write to release, can go on. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dripgate::app {

/// The reserve is a sixteenth of the file system, within these bounds.
inline constexpr std::uint64_t kDiskReserveMin = 4u << 20;
inline constexpr std::uint64_t kDiskReserveMax = 64u << 20;
/// An event is written to its topic, to the log and again with its timer entry.
inline constexpr std::uint64_t kDiskBytesPerIngestByte = 4;

class DiskRoom {
 public:
  /// `database`: path of the file; ":memory:" is never full.
  explicit DiskRoom(const std::string& database);
  /// Is there room to take `bytes` of new events? Error: full, with what to do.
  [[nodiscard]] Result<void> admit(std::uint64_t bytes) const;

 private:
  std::string folder_;  // empty: no disk
};

}  // namespace dripgate::app
