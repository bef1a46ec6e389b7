// Health: what keeps the process from being ready, one sentence per cause. Written by the drip loop and the
// shells, read by /readyz. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace dripgate::app {

class Health {
 public:
  /// `cause` names the fault ("store", "dead letters of payouts"); the same cause again replaces its
  /// sentence.
  void raise(const std::string& cause, std::string sentence);
  void clear(const std::string& cause);
  /// The sentences, ordered by cause; empty: ready.
  [[nodiscard]] std::vector<std::string> reasons() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> faults_;
};

}  // namespace dripgate::app
