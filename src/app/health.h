// Health: what keeps the process from being ready, one sentence per cause. Written by the drip loop and the
// shells, read by /readyz. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace dripgate::app {

/// Warnings kept; the log has all.
inline constexpr std::size_t kWarningsMax = 100;

class Health {
 public:
  /// `cause` names the fault ("store", "dead letters of payouts"); the same cause again replaces its
  /// sentence.
  void raise(const std::string& cause, std::string sentence);
  void clear(const std::string& cause);
  /// What promises less without keeping the process from its work.
  void warn(std::string sentence);
  /// The sentences, ordered by cause; empty: ready.
  [[nodiscard]] std::vector<std::string> reasons() const;
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> faults_;
  std::vector<std::string> warnings_;
};

}  // namespace dripgate::app
