// Snapshot: see snapshot.h.
#include "config/snapshot.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "config/file_read.h"
#include "config/yaml_tree.h"

namespace dripgate::config {
namespace {

// Clocks of file systems tick slowly: a file written twice within a tick keeps its identity. A second look at
// an identity reads the bytes once more, then it is trusted.
constexpr int kLooksAtIdentity = 2;
// A file that changes while it is read is read again, this often at most; then the next look finds it.
constexpr int kReadsMax = 3;

Result<std::string> read_stable(const std::string& path) {
  for (int i = 1;; ++i) {
    const std::string before = file_identity(path);
    auto bytes = read_file(path, kConfigBytesMax);
    if (i == kReadsMax || before == file_identity(path)) return bytes;
  }
}

// The config file and the files of secrets: of the set in force and of the one on disk.
std::string identity_of(const Config& running, const std::vector<std::string>& secret_files) {
  std::string identity = file_identity(running.file);
  for (const std::string& file : running.secret_files) identity += "|" + file_identity(file);
  for (const std::string& file : secret_files) identity += "|" + file_identity(file);
  return identity;
}

}  // namespace

Snapshot::Snapshot(ConfigPtr first, Environment environment)
    : environment_(std::move(environment)), current_(std::move(first)) {}

ConfigPtr Snapshot::get() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

ReloadResult Snapshot::reload() {
  const std::lock_guard lock(reload_mutex_);
  const std::string identity = identity_of(*get(), secret_files_);
  if (std::exchange(seen_identity_, identity) != identity) looks_at_identity_ = 0;
  if (looks_at_identity_ >= kLooksAtIdentity) {
    const bool bad = !refused_version_.empty();
    return {.refused = bad, .repeated = bad, .problems = problems_};
  }
  ++looks_at_identity_;
  return look_again();
}

ReloadResult Snapshot::look_again() {
  const ConfigPtr running = get();
  const auto bytes = read_stable(running->file);
  if (!bytes) {
    Problem problem{running->file, 1, 1, false, "the file cannot be read: " + bytes.error().detail};
    return refuse({std::move(problem)}, "unreadable: " + bytes.error().detail);
  }
  Loaded loaded = parse(*bytes, running->file, environment_);
  secret_files_ = loaded.secret_files;
  if (!loaded.config) return refuse(std::move(loaded.problems), sha256_hex(*bytes));
  if (auto problems = restart_problems(*running, loaded); !problems.empty()) {
    return refuse(std::move(problems), sha256_hex(*bytes));
  }
  refused_version_.clear();
  problems_.clear();
  const bool same_tokens = loaded.config->server.tokens == running->server.tokens;
  if (loaded.config->version == running->version && same_tokens) return {};
  auto next = std::make_shared<const Config>(*std::move(loaded.config));
  const std::lock_guard lock(mutex_);
  current_ = std::move(next);
  return {.changed = true, .problems = std::move(loaded.problems)};
}

ReloadResult Snapshot::refuse(std::vector<Problem> problems, std::string what) {
  const bool repeated = refused_version_ == what;
  refused_version_ = std::move(what);
  problems_ = std::move(problems);
  return {.refused = true, .repeated = repeated, .problems = problems_};
}

}  // namespace dripgate::config
