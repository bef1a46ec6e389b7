// What SQLite calls of a CrashVfs: the two method tables. Included by crash_vfs*.cc only.
#pragma once

#include <memory>

#include <sqlite3.h>

#include "support/crash_vfs.h"

namespace dripgate::testing {

/// SQLite allocates it as raw bytes; `state` is made in open and ended in close.
struct CrashVfs::Handle {
  sqlite3_file base;
  struct State {
    CrashVfs* vfs;
    std::shared_ptr<File> file;
    std::uint64_t life;
    std::string delete_on_close;
    int keep_log = 0;
    std::vector<std::shared_ptr<char[]>> mapped = {};  // a dead connection still looks at its pages
  };
  State* state;
};

struct CrashVfs::Methods {
  static void fill(sqlite3_vfs& table, CrashVfs& vfs);

  static CrashVfs& of(sqlite3_vfs* table) { return *static_cast<CrashVfs*>(table->pAppData); }
  static Handle::State& of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file)->state; }
  /// The handle was open at a kill, or the process "died".
  static bool dead(const Handle::State& state) { return state.life != state.vfs->life_ || state.vfs->dead_; }

  static int open(sqlite3_vfs* table, const char* path, sqlite3_file* file, int flags, int* out_flags);
  static int remove(sqlite3_vfs* table, const char* path, int sync_folder);
  static int access(sqlite3_vfs* table, const char* path, int flags, int* result);
  static int full_path(sqlite3_vfs* table, const char* path, int room, char* out);
  static int randomness(sqlite3_vfs* table, int count, char* out);

  static int close(sqlite3_file* file);
  static int read(sqlite3_file* file, void* out, int count, sqlite3_int64 offset);
  static int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset);
  static int truncate(sqlite3_file* file, sqlite3_int64 size);
  static int sync(sqlite3_file* file, int flags);
  static int size(sqlite3_file* file, sqlite3_int64* size);
  static int lock(sqlite3_file* file, int level);
  static int unlock(sqlite3_file* file, int level);
  static int check_reserved(sqlite3_file* file, int* result);
  static int control(sqlite3_file* file, int what, void* argument);
  static int shm_map(sqlite3_file* file, int region, int bytes, int extend, void volatile** out);
  static int shm_lock(sqlite3_file* file, int offset, int count, int flags);
  static int shm_unmap(sqlite3_file* file, int remove);
  static int allocate(Handle::State& state, sqlite3_int64 bytes);
};

}  // namespace dripgate::testing
