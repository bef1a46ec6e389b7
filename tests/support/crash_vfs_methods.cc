// Files, locks and shared memory as SQLite expects them (sqlite.org/c3ref/io_methods.html).
#include "support/crash_vfs_methods.h"

#include <algorithm>
#include <cstring>

namespace dripgate::testing {
namespace {

constexpr int kPathBytesMax = 512;
constexpr sqlite3_int64 kMillisecondsAtJulian = 212'666'000'000'000;  // some fixed day

unsigned slots(int offset, int count) {
  return ((1u << count) - 1u) << offset;
}

}  // namespace

void CrashVfs::Methods::fill(sqlite3_vfs& table, CrashVfs& vfs) {
  table.iVersion = 2;
  table.szOsFile = sizeof(Handle);
  table.mxPathname = kPathBytesMax;
  table.zName = vfs.name_.c_str();
  table.pAppData = &vfs;
  table.xOpen = open;
  table.xDelete = remove;
  table.xAccess = access;
  table.xFullPathname = full_path;
  table.xRandomness = randomness;
  table.xSleep = [](sqlite3_vfs*, int microseconds) { return microseconds; };  // virtual time: nobody waits
  table.xCurrentTimeInt64 = [](sqlite3_vfs*, sqlite3_int64* now) {
    *now = kMillisecondsAtJulian;
    return SQLITE_OK;
  };
  table.xCurrentTime = [](sqlite3_vfs*, double* now) {
    *now = static_cast<double>(kMillisecondsAtJulian) / 86'400'000.0;
    return SQLITE_OK;
  };
  table.xGetLastError = [](sqlite3_vfs*, int, char*) { return 0; };
}

int CrashVfs::Methods::open(sqlite3_vfs* table, const char* path, sqlite3_file* file, int flags,
                            int* out_flags) {
  static const sqlite3_io_methods methods = {2,
                                             close,
                                             read,
                                             write,
                                             truncate,
                                             sync,
                                             size,
                                             lock,
                                             unlock,
                                             check_reserved,
                                             control,
                                             [](sqlite3_file*) { return 512; },
                                             [](sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; },
                                             shm_map,
                                             shm_lock,
                                             [](sqlite3_file*) {},
                                             shm_unmap,
                                             nullptr,
                                             nullptr};
  CrashVfs& vfs = of(table);
  auto* handle = reinterpret_cast<Handle*>(file);
  handle->base.pMethods = nullptr;
  if (vfs.dead_) return SQLITE_CANTOPEN;
  const std::string name = path == nullptr ? "" : path;
  std::shared_ptr<File> opened;
  if (const auto found = vfs.files_.find(name); found != vfs.files_.end()) {
    opened = found->second;
  } else if (name.empty() || (flags & SQLITE_OPEN_CREATE) != 0) {
    opened = std::make_shared<File>();
    if (!name.empty()) vfs.files_[name] = opened;
  } else {
    return SQLITE_CANTOPEN;
  }
  const bool temporary = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
  handle->state = new Handle::State{&vfs, std::move(opened), vfs.life_, temporary ? name : ""};
  handle->base.pMethods = &methods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int CrashVfs::Methods::remove(sqlite3_vfs* table, const char* path, int) {
  CrashVfs& vfs = of(table);
  if (!vfs.files_.contains(path)) return SQLITE_IOERR_DELETE_NOENT;
  const int code = vfs.step(0);
  if (code == SQLITE_OK) vfs.files_.erase(path);
  return code == SQLITE_OK ? SQLITE_OK : SQLITE_IOERR_DELETE;
}

int CrashVfs::Methods::access(sqlite3_vfs* table, const char* path, int, int* result) {
  *result = of(table).files_.contains(path) ? 1 : 0;
  return SQLITE_OK;
}

int CrashVfs::Methods::full_path(sqlite3_vfs*, const char* path, int room, char* out) {
  const std::size_t length = std::strlen(path);
  if (length + 1 > static_cast<std::size_t>(room)) return SQLITE_CANTOPEN;
  std::memcpy(out, path, length + 1);
  return SQLITE_OK;
}

int CrashVfs::Methods::randomness(sqlite3_vfs* table, int count, char* out) {
  for (int i = 0; i < count; ++i) out[i] = static_cast<char>(of(table).random_());
  return count;
}

int CrashVfs::Methods::close(sqlite3_file* file) {
  Handle::State& state = of(file);
  if (!dead(state)) {
    state.file->locks.erase(file);
    state.file->shared_locks.erase(file);
    if (!state.delete_on_close.empty()) state.vfs->files_.erase(state.delete_on_close);
  }
  delete reinterpret_cast<Handle*>(file)->state;
  return SQLITE_OK;
}

int CrashVfs::Methods::read(sqlite3_file* file, void* out, int count, sqlite3_int64 offset) {
  Handle::State& state = of(file);
  if (dead(state)) return SQLITE_IOERR_READ;
  const std::string& bytes = state.file->written;
  const auto wanted = static_cast<std::size_t>(count);
  const auto from = std::min(static_cast<std::size_t>(offset), bytes.size());
  const std::size_t there = std::min(wanted, bytes.size() - from);
  std::memcpy(out, bytes.data() + from, there);
  if (there == wanted) return SQLITE_OK;
  std::memset(static_cast<char*>(out) + there, 0, wanted - there);
  return SQLITE_IOERR_SHORT_READ;
}

int CrashVfs::Methods::write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
  Handle::State& state = of(file);
  if (dead(state)) return SQLITE_IOERR_WRITE;
  Change change{static_cast<std::uint64_t>(offset),
                std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(count)), false};
  const int code = state.vfs->change(*state.file, std::move(change));
  return code == SQLITE_IOERR ? SQLITE_IOERR_WRITE : code;
}

int CrashVfs::Methods::truncate(sqlite3_file* file, sqlite3_int64 size) {
  Handle::State& state = of(file);
  if (dead(state)) return SQLITE_IOERR_TRUNCATE;
  const int code = state.vfs->change(*state.file, Change{static_cast<std::uint64_t>(size), {}, true});
  return code == SQLITE_OK ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

int CrashVfs::Methods::sync(sqlite3_file* file, int) {
  Handle::State& state = of(file);
  if (dead(state) || state.vfs->step(0) != SQLITE_OK) return SQLITE_IOERR_FSYNC;
  for (const Change& change : state.file->unsynced) apply(state.file->synced, change);
  state.file->unsynced.clear();
  state.file->named = true;
  return SQLITE_OK;
}

int CrashVfs::Methods::size(sqlite3_file* file, sqlite3_int64* size) {
  Handle::State& state = of(file);
  if (dead(state)) return SQLITE_IOERR_FSTAT;
  *size = static_cast<sqlite3_int64>(state.file->written.size());
  return SQLITE_OK;
}

int CrashVfs::Methods::lock(sqlite3_file* file, int level) {
  Handle::State& state = of(file);
  if (dead(state)) return SQLITE_IOERR_LOCK;
  int others = SQLITE_LOCK_NONE;
  for (const auto& [handle, held] : state.file->locks) {
    if (handle != file) others = std::max(others, held);
  }
  int& own = state.file->locks[file];
  if (own >= level) return SQLITE_OK;
  if (level == SQLITE_LOCK_SHARED && others >= SQLITE_LOCK_PENDING) return SQLITE_BUSY;
  if (level >= SQLITE_LOCK_RESERVED && others >= SQLITE_LOCK_RESERVED) return SQLITE_BUSY;
  if (level == SQLITE_LOCK_EXCLUSIVE && others >= SQLITE_LOCK_SHARED) {
    own = SQLITE_LOCK_PENDING;
    return SQLITE_BUSY;
  }
  own = level;
  return SQLITE_OK;
}

int CrashVfs::Methods::unlock(sqlite3_file* file, int level) {
  Handle::State& state = of(file);
  if (dead(state)) return SQLITE_OK;
  int& own = state.file->locks[file];
  own = std::min(own, level);
  return SQLITE_OK;
}

int CrashVfs::Methods::check_reserved(sqlite3_file* file, int* result) {
  *result = 0;
  for (const auto& [handle, held] : of(file).file->locks) {
    if (held >= SQLITE_LOCK_RESERVED) *result = 1;
  }
  return SQLITE_OK;
}

int CrashVfs::Methods::allocate(Handle::State& state, sqlite3_int64 bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  if (dead(state)) return SQLITE_IOERR_WRITE;
  if (size <= state.file->written.size()) return SQLITE_OK;
  Change change{state.file->written.size(), std::string(size - state.file->written.size(), '\0'), false};
  return state.vfs->change(*state.file, std::move(change)) == SQLITE_OK ? SQLITE_OK : SQLITE_IOERR_WRITE;
}

int CrashVfs::Methods::control(sqlite3_file* file, int what, void* argument) {
  Handle::State& state = of(file);
  switch (what) {
    case SQLITE_FCNTL_PERSIST_WAL: {
      int& keep = *static_cast<int*>(argument);
      if (keep >= 0) state.keep_log = keep;
      keep = state.keep_log;
      return SQLITE_OK;
    }
    case SQLITE_FCNTL_CHUNK_SIZE:
      return state.vfs->allocation_ ? SQLITE_OK : SQLITE_NOTFOUND;
    case SQLITE_FCNTL_SIZE_HINT:
      return state.vfs->allocation_ ? allocate(state, *static_cast<sqlite3_int64*>(argument))
                                    : SQLITE_NOTFOUND;
    default:
      return SQLITE_NOTFOUND;
  }
}

int CrashVfs::Methods::shm_map(sqlite3_file* file, int region, int bytes, int extend, void volatile** out) {
  Handle::State& state = of(file);
  *out = nullptr;
  if (dead(state)) return SQLITE_IOERR_SHMMAP;
  auto& memory = state.file->shared_memory;
  state.file->shared_locks.try_emplace(file);
  while (memory.size() <= static_cast<std::size_t>(region)) {
    if (extend == 0) return SQLITE_OK;
    memory.push_back(std::make_shared<char[]>(static_cast<std::size_t>(bytes)));
  }
  state.mapped.push_back(memory[static_cast<std::size_t>(region)]);
  *out = state.mapped.back().get();
  return SQLITE_OK;
}

int CrashVfs::Methods::shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  Handle::State& state = of(file);
  if (dead(state)) return SQLITE_IOERR_SHMLOCK;
  const unsigned wanted = slots(offset, count);
  auto& [shared, exclusive] = state.file->shared_locks[file];
  if ((flags & SQLITE_SHM_UNLOCK) != 0) {
    shared &= ~wanted;
    exclusive &= ~wanted;
    return SQLITE_OK;
  }
  const bool all = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
  for (const auto& [handle, held] : state.file->shared_locks) {
    if (handle == file) continue;
    if ((held.second & wanted) != 0 || (all && (held.first & wanted) != 0)) return SQLITE_BUSY;
  }
  (all ? exclusive : shared) |= wanted;
  return SQLITE_OK;
}

int CrashVfs::Methods::shm_unmap(sqlite3_file* file, int) {
  Handle::State& state = of(file);
  if (dead(state)) return SQLITE_OK;
  state.file->shared_locks.erase(file);
  // As when the first process of the next round cuts the file: the index is built again from the log.
  if (state.file->shared_locks.empty()) state.file->shared_memory.clear();
  return SQLITE_OK;
}

}  // namespace dripgate::testing
