// DemoTally: counts deliveries by the minute in which the store let them go, after removing equal ids, and
// judges a run: is anything lost, is any window above the limit, does the burst leave evenly. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/receiver.h"

namespace dripgate::cli {

class DemoTally {
 public:
  explicit DemoTally(std::int64_t limit_per_minute) : limit_(limit_per_minute) {}

  void delivered(const Received& received);
  void dead_letter(const std::string& id, const std::string& reason);

  using Minute = std::int64_t;  // since 1970
  using PerMinute = std::map<Minute, std::uint64_t>;
  [[nodiscard]] const std::map<std::string, PerMinute>& keys() const { return keys_; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& reasons() const { return reasons_; }
  /// Events that were delivered or parked.
  [[nodiscard]] std::uint64_t accounted() const { return ids_.size(); }
  [[nodiscard]] std::uint64_t released() const { return released_; }
  [[nodiscard]] std::uint64_t repeated() const { return repeated_; }  // deliveries of an id that was there
  [[nodiscard]] std::uint64_t late() const { return late_; }  // released after the minute of their slot
  [[nodiscard]] std::uint64_t unreadable() const {
    return unreadable_;
  }  // without a usable dripgate-released
  [[nodiscard]] std::uint64_t lost(std::uint64_t published) const;
  /// (key, minute) pairs above the limit.
  [[nodiscard]] std::uint64_t exceeded() const;
  /// Every minute of this key from its first release to its last, with zeros.
  [[nodiscard]] std::vector<std::uint64_t> minutes_of(const std::string& key) const;

 private:
  std::int64_t limit_;
  std::map<std::string, PerMinute> keys_;
  std::map<std::string, std::uint64_t> reasons_;
  std::set<std::string> ids_;
  std::uint64_t released_ = 0;
  std::uint64_t repeated_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t unreadable_ = 0;
};

}  // namespace dripgate::cli
