// Snapshot: the config in force. A reload swaps the whole set or changes nothing; readers hold a shared_ptr
// and never wait.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/config.h"

namespace dripgate::config {

using ConfigPtr = std::shared_ptr<const Config>;

struct ReloadResult {
  bool changed = false;   // the file's bytes differ from the set in force and were accepted
  bool refused = false;   // the last good set stays; true for as long as the file stays bad
  bool repeated = false;  // refused for the same bytes as last time: nothing new to log
  std::vector<Problem> problems;
};

/// Thread-safe.
class Snapshot {
 public:
  explicit Snapshot(ConfigPtr first, Environment environment = {});
  [[nodiscard]] ConfigPtr get() const;
  /// Looks at the file again: cheap when its identity (device, inode, size, times; through symlinks) is
  /// unchanged. Refuses a set with errors, and one that needs a restart (store, server.listen, server.tls,
  /// streams added, removed, or with another source, sink, inner topic or flow control), saying so.
  ReloadResult reload();

 private:
  ReloadResult look_again();
  ReloadResult refuse(std::vector<Problem> problems, std::string what);

  mutable std::mutex mutex_;  // guards current_
  std::mutex reload_mutex_;   // one reload at a time; guards the rest
  const Environment environment_;
  ConfigPtr current_;
  std::string seen_identity_;
  int looks_at_identity_ = 0;
  std::vector<std::string> secret_files_;  // of the set on disk
  std::string refused_version_;            // of the bytes on disk while they are bad; empty: they are good
  std::vector<Problem> problems_;          // why
};

/// What only a restart can change between two sets, at its place in the new file; empty: nothing.
[[nodiscard]] std::vector<Problem> restart_problems(const Config& running, const Loaded& loaded);

}  // namespace dripgate::config
