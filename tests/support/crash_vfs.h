// CrashVfs: SQLite files in memory that can lose what was not synced, fail, and be full. It keeps for every
// file the bytes as written and the bytes as synced; kill() is a power cut: unsynced writes are gone and
// every open handle is dead. One thread; several connections share files, locks and shared memory as
// processes would.
//
// Simplification: a file's name is durable with its first sync, its deletion at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <sqlite3.h>

namespace dripgate::testing {

class CrashVfs {
 public:
  CrashVfs();
  ~CrashVfs();  // after every connection that uses it
  CrashVfs(const CrashVfs&) = delete;
  CrashVfs& operator=(const CrashVfs&) = delete;

  /// For sqlite::Options::vfs.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Drops every unsynced write and all faults; handles that are open fail from now on.
  void kill();
  /// The same, but of the unsynced writes a random choice of 512-byte pieces has reached the disk.
  void kill_keeping_some(std::uint64_t seed);

  /// A step is a write, a truncation, a sync or a deletion. The n-th from now (1 = the next) fails once.
  void fail_step(std::uint64_t n);
  /// The n-th step from now and everything after it fails until kill(): the process died there.
  void die_at_step(std::uint64_t n);
  /// Steps that would make all files together larger than this get SQLITE_FULL.
  void set_capacity(std::optional<std::uint64_t> bytes) { capacity_ = bytes; }
  /// Allocation ahead (SQLITE_FCNTL_SIZE_HINT) works as on a real disk. Off: not known, as in old systems.
  void set_allocation(bool on) { allocation_ = on; }

  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] bool fault_fired() const { return fault_fired_; }
  [[nodiscard]] std::uint64_t bytes_used() const;
  /// The bytes of a file as written, to damage or to compare; null: there is none.
  [[nodiscard]] std::string* contents(const std::string& path);
  /// A file as found on the disk.
  void put(const std::string& path, std::string bytes);

 private:
  struct Methods;
  struct Handle;
  struct Change {
    std::uint64_t offset = 0;
    std::string bytes;
    bool truncates = false;
  };
  struct File {
    std::string written;
    std::string synced;
    std::vector<Change> unsynced;
    bool named = false;  // survives a kill
    std::map<const void*, int> locks;
    std::vector<std::shared_ptr<char[]>> shared_memory;
    std::map<const void*, std::pair<unsigned, unsigned>> shared_locks;  // handle -> (shared, exclusive) slots
  };

  static void apply(std::string& bytes, const Change& change);
  int step(std::uint64_t growth);
  int change(File& file, Change change);
  void end_of_process();

  std::string name_;
  sqlite3_vfs vfs_{};
  std::map<std::string, std::shared_ptr<File>> files_;
  std::uint64_t life_ = 0;  // handles of earlier lives are dead
  std::uint64_t steps_ = 0;
  std::uint64_t fail_at_ = 0;  // 0: never
  std::uint64_t die_at_ = 0;
  bool dead_ = false;
  bool fault_fired_ = false;
  bool allocation_ = false;
  std::optional<std::uint64_t> capacity_;
  std::mt19937_64 random_{1};
};

}  // namespace dripgate::testing
