// Space: keeps the file able to finish what is booked when the disk is full. Used by Database only.
//
// Three measures. (1) The log is allocated ahead (kLogReserveBytes) and never shrinks, so that small turns
// find room in it. (2) Before a commit the database file is allocated up to its new length, so that copying
// the log back never fails: a full disk shows before anything is promised. (3) The ballast, a row of
// kBallastBytes, is deleted at the first full disk: its pages serve deletes, gates and releases, while low()
// keeps new events out.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sqlite/database.h"
#include "sqlite/statement.h"

namespace dripgate::sqlite {

/// Log allocated ahead: twice what it holds when it is copied back (kCheckpointFrames).
inline constexpr std::int64_t kLogReserveBytes = 8 << 20;
/// The database file grows in steps of this.
inline constexpr int kFileStepBytes = 1 << 20;
/// Free pages inside the file count as room again when they are this many ballasts: no flapping at the edge.
inline constexpr std::int64_t kRoomyFactor = 4;
/// The ballast is at most this part of a bounded file.
inline constexpr std::int64_t kBallastShareMin = 16;

class Space {
 public:
  Space(sqlite3* handle, const Options& options);

  /// Bounds, reserves and ballast; a disk that is full already is no error, low() says so.
  Result<void> prepare();
  /// Inside a transaction, before its commit. Error: full.
  Result<void> reserve_growth();
  void reserve_log();
  /// A turn failed for want of space and was rolled back.
  void on_full();
  /// Outside any transaction: lays the ballast again if there is room.
  void try_to_recover();
  [[nodiscard]] bool low() const { return low_; }

 private:
  Result<std::int64_t> pages(const char* pragma);
  bool grow_to(std::int64_t bytes);
  [[nodiscard]] bool has_room(std::int64_t ballast_pages);
  bool lay_ballast();

  sqlite3* handle_;
  std::int64_t max_pages_;
  std::int64_t ballast_bytes_;
  std::int64_t allocated_bytes_ = 0;
  bool can_allocate_ = true;  // false: the VFS does not do it
  bool low_ = false;
  Statement page_count_;
};

}  // namespace dripgate::sqlite
