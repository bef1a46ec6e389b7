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
  bool changed = false;  // the file's bytes differ from the set in force and were accepted
  bool refused = false;  // the last good set stays
  std::vector<Problem> problems;
};

/// Thread-safe.
class Snapshot {
 public:
  explicit Snapshot(ConfigPtr first);
  [[nodiscard]] ConfigPtr get() const;
  /// Looks at the file again: cheap when its identity (device, inode, size, mtime; through symlinks) is
  /// unchanged. Refuses a set with errors, and one that needs a restart (store, server.listen, streams added,
  /// removed, or with another source or sink), saying so.
  ReloadResult reload();

 private:
  mutable std::mutex mutex_;
  ConfigPtr current_;
  std::string seen_identity_;
  std::string refused_version_;
};

}  // namespace dripgate::config
