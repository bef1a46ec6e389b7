#include "check/replays.h"

namespace dripgate::check {

std::string replay_name(std::string_view counter_key, std::span<const core::Limit> limits, core::Units cost,
                        std::string_view escaped_key) {
  std::string name = std::string(counter_key) + ' ' + std::to_string(cost);
  for (const core::Limit& limit : limits) {
    for (const std::int64_t number : {limit.limit, limit.capacity, limit.window.count()})
      name += ' ' + std::to_string(number);
  }
  return (name += ' ') += escaped_key;
}

std::optional<Replays::Taken> Replays::take(const std::string& name, WallTime now) {
  const auto found = allows_.find(name);
  if (found == allows_.end() || found->second.left <= 0 || now >= found->second.until) return std::nullopt;
  --found->second.left;
  return Taken{found->second.outcomes, found->second.sequence};
}

void Replays::give_back(const std::string& name, std::uint64_t allow) {
  const auto found = allows_.find(name);
  if (found != allows_.end() && found->second.sequence == allow) ++found->second.left;
}

void Replays::remember(const std::string& name, Outcomes outcomes, int replays, WallTime until) {
  const std::uint64_t sequence = ++sequence_;
  allows_[name] = {std::move(outcomes), replays, until, sequence};
  order_.emplace_back(sequence, name);
  while (order_.size() > max_) forget_first();
}

/// A name that was remembered again since has a later place.
void Replays::forget_first() {
  const auto found = allows_.find(order_.front().second);
  if (found != allows_.end() && found->second.sequence == order_.front().first) allows_.erase(found);
  order_.pop_front();
}

}  // namespace dripgate::check
