#include "cli/demo_tally.h"

#include "base/rfc3339.h"

namespace dripgate::cli {
namespace {

DemoTally::Minute minute_of(WallTime time) {
  return std::chrono::floor<std::chrono::minutes>(time).time_since_epoch().count();
}

}  // namespace

void DemoTally::delivered(const Received& received) {
  if (!ids_.insert(received.id).second) {
    ++repeated_;
    return;
  }
  ++released_;
  const auto released = parse_rfc3339(received.released);
  const auto slot = parse_rfc3339(received.slot);
  if (!released || !slot || received.id.empty()) {
    ++unreadable_;
    return;
  }
  ++keys_[received.key][minute_of(*released)];
  if (minute_of(*released) > minute_of(*slot)) ++late_;
}

void DemoTally::dead_letter(const std::string& id, const std::string& reason) {
  ids_.insert(id);
  ++reasons_[reason];
}

std::uint64_t DemoTally::lost(std::uint64_t published) const {
  return published > ids_.size() ? published - ids_.size() : 0;
}

std::uint64_t DemoTally::exceeded() const {
  std::uint64_t count = 0;
  for (const auto& [key, minutes] : keys_) {
    for (const auto& [minute, releases] : minutes) {
      if (releases > static_cast<std::uint64_t>(limit_)) ++count;
    }
  }
  return count;
}

std::vector<std::uint64_t> DemoTally::minutes_of(const std::string& key) const {
  std::vector<std::uint64_t> counts;
  const auto found = keys_.find(key);
  if (found == keys_.end()) return counts;
  const PerMinute& minutes = found->second;
  for (Minute minute = minutes.begin()->first; minute <= minutes.rbegin()->first; ++minute) {
    const auto releases = minutes.find(minute);
    counts.push_back(releases == minutes.end() ? 0 : releases->second);
  }
  return counts;
}

}  // namespace dripgate::cli
