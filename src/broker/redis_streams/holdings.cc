#include "broker/redis_streams/holdings.h"

#include <utility>

namespace dripgate::broker::redis_streams {

std::uint64_t Holdings::take(std::size_t lane, std::string id, int before) {
  const std::uint64_t token = ++last_token_;
  by_id_[lane].emplace(id, token);
  held_.emplace(token, Held{.lane = lane, .id = std::move(id), .before = before});
  return token;
}

const Holdings::Held* Holdings::find(std::uint64_t token) const {
  const auto found = held_.find(token);
  return found == held_.end() ? nullptr : &found->second;
}

void Holdings::renew(std::uint64_t token) {
  if (const auto found = held_.find(token); found != held_.end()) found->second.rounds = 0;
}

void Holdings::drop(std::uint64_t token) {
  const auto found = held_.find(token);
  if (found == held_.end()) return;
  if (!found->second.expired) by_id_[found->second.lane].erase(found->second.id);
  held_.erase(found);
}

Holdings::Round Holdings::age(int deadline_rounds) {
  Round round;
  round.keep.resize(by_id_.size());
  for (auto& [token, held] : held_) {
    if (held.expired) continue;
    ++held.rounds;
    if (held.rounds > deadline_rounds) {
      held.expired = true;
      by_id_[held.lane].erase(held.id);
      expired_.push_back(token);
      round.expired.push_back(token);
    } else if (held.rounds > 1) {
      round.keep[held.lane].push_back(held.id);
    }
  }
  for (; expired_.size() > kExpiredMax; expired_.pop_front()) held_.erase(expired_.front());
  return round;
}

}  // namespace dripgate::broker::redis_streams
