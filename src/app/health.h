// Health: what keeps the process from being ready, one sentence per cause, and which config it runs. Written
// by the drip loop and the shells, read by /readyz. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "server/stream_service.h"

namespace dripgate::app {

/// Warnings kept of one source; the log has all.
inline constexpr std::size_t kWarningsMax = 100;

class Health {
 public:
  /// `cause` names the fault ("store", "dead letters of payouts"); the same cause again replaces its
  /// sentence.
  void raise(const std::string& cause, std::string sentence);
  void clear(const std::string& cause);
  /// What promises less without keeping the process from its work; instead of what `source` said before.
  void warn(const std::string& source, std::vector<std::string> sentences);
  void config(server::ConfigState state);
  /// The sentences, ordered by cause; empty: ready.
  [[nodiscard]] std::vector<std::string> reasons() const;
  [[nodiscard]] std::vector<std::string> warnings() const;
  [[nodiscard]] server::ConfigState config() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> faults_;
  std::map<std::string, std::vector<std::string>> warnings_;
  server::ConfigState config_;
};

}  // namespace dripgate::app
