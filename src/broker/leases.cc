// Leases.
#include "broker/leases.h"

#include <algorithm>

namespace dripgate::broker {

void Leases::claim(std::int64_t row, std::size_t bytes) {
  if (const auto lapsed = lapsed_.find(row); lapsed != lapsed_.end()) {
    again_[row] = lapsed->second;
    lapsed_.erase(lapsed);
  }
  if (claimed_.emplace(row, bytes).second) claimed_bytes_ += bytes;
}

void Leases::settle(std::int64_t row) {
  lapsed_.erase(row);
  again_.erase(row);
  const auto claimed = claimed_.find(row);
  if (claimed == claimed_.end()) return;
  claimed_bytes_ -= claimed->second;
  claimed_.erase(claimed);
}

std::optional<Duration> Leases::lapse(std::int64_t row) {
  const auto claimed = claimed_.find(row);
  if (claimed == claimed_.end()) return std::nullopt;
  const int count = lapses(row) + 1;
  settle(row);
  lapsed_[row] = count;
  Duration delay = kRedeliveryDelayMin;
  for (int i = 1; i < count && delay < kRedeliveryDelayMax; ++i) delay *= 2;
  return std::min(delay, kRedeliveryDelayMax);
}

void Leases::ready(std::int64_t row) {
  if (lapsed_.contains(row)) ready_.push_back(row);
}

std::optional<std::int64_t> Leases::take_ready() {
  while (!ready_.empty()) {
    const std::int64_t row = ready_.front();
    ready_.pop_front();
    if (lapsed_.contains(row)) return row;  // else it was settled meanwhile
  }
  return std::nullopt;
}

int Leases::lapses(std::int64_t row) const {
  const auto found = again_.find(row);
  return found == again_.end() ? 0 : found->second;
}

}  // namespace dripgate::broker
