// CrashVfs: the files. What SQLite calls: crash_vfs_methods.cc.
#include "support/crash_vfs.h"

#include <algorithm>

#include "support/crash_vfs_methods.h"

namespace dripgate::testing {
namespace {

constexpr std::size_t kPieceBytes = 512;

std::string next_name() {
  static int count = 0;
  return "dripgate-crash-" + std::to_string(++count);
}

}  // namespace

CrashVfs::CrashVfs() : name_(next_name()) {
  Methods::fill(vfs_, *this);
  sqlite3_vfs_register(&vfs_, 0);
}

CrashVfs::~CrashVfs() {
  sqlite3_vfs_unregister(&vfs_);
}

void CrashVfs::apply(std::string& bytes, const Change& change) {
  if (change.truncates) {
    bytes.resize(change.offset);
    return;
  }
  if (bytes.size() < change.offset + change.bytes.size()) bytes.resize(change.offset + change.bytes.size());
  bytes.replace(change.offset, change.bytes.size(), change.bytes);
}

void CrashVfs::end_of_process() {
  ++life_;
  fail_at_ = die_at_ = 0;
  dead_ = false;
  fault_fired_ = false;
  std::erase_if(files_, [](const auto& entry) { return !entry.second->named; });
  for (auto& [path, file] : files_) {
    file->written = file->synced;
    file->unsynced.clear();
    file->locks.clear();
    file->shared_locks.clear();
    file->shared_memory.clear();
  }
}

void CrashVfs::kill() {
  end_of_process();
}

void CrashVfs::kill_keeping_some(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (auto& [path, file] : files_) {
    for (const Change& change : file->unsynced) {
      if (change.truncates) {
        if (random() % 2 == 0) apply(file->synced, change);
        continue;
      }
      for (std::size_t at = 0; at < change.bytes.size(); at += kPieceBytes) {
        if (random() % 2 == 0) continue;
        apply(file->synced, Change{change.offset + at, change.bytes.substr(at, kPieceBytes), false});
      }
    }
    if (random() % 2 == 0) file->named = true;
  }
  end_of_process();
}

void CrashVfs::fail_step(std::uint64_t n) {
  fail_at_ = steps_ + n;
  fault_fired_ = false;
}

void CrashVfs::die_at_step(std::uint64_t n) {
  die_at_ = steps_ + n;
  fault_fired_ = false;
}

int CrashVfs::step(std::uint64_t growth) {
  if (dead_) return SQLITE_IOERR;
  ++steps_;
  if (steps_ == fail_at_ || steps_ == die_at_) {
    fault_fired_ = true;
    dead_ = steps_ == die_at_;
    return SQLITE_IOERR;
  }
  if (growth > 0 && capacity_ && bytes_used() + growth > *capacity_) return SQLITE_FULL;
  return SQLITE_OK;
}

int CrashVfs::change(File& file, Change change) {
  const std::uint64_t end = change.truncates ? 0 : change.offset + change.bytes.size();
  const int code = step(end > file.written.size() ? end - file.written.size() : 0);
  if (code != SQLITE_OK) return code;
  apply(file.written, change);
  file.unsynced.push_back(std::move(change));
  return SQLITE_OK;
}

std::uint64_t CrashVfs::bytes_used() const {
  std::uint64_t sum = 0;
  for (const auto& [path, file] : files_) sum += file->written.size();
  return sum;
}

void CrashVfs::put(const std::string& path, std::string bytes) {
  auto file = std::make_shared<File>();
  file->synced = bytes;
  file->written = std::move(bytes);
  file->named = true;
  files_[path] = std::move(file);
}

std::string* CrashVfs::contents(const std::string& path) {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second->written;
}

}  // namespace dripgate::testing
