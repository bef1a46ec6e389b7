#include "broker/pubsub/holdings.h"

#include <algorithm>
#include <utility>

#include "broker/leases.h"

namespace dripgate::broker::pubsub {

Held* Holdings::find(std::uint64_t token) {
  const auto held = held_.find(token);
  return held == held_.end() ? nullptr : &held->second;
}

std::uint64_t Holdings::token_of(const std::string& message_id) const {
  const auto token = tokens_.find(message_id);
  return token == tokens_.end() ? 0 : token->second;
}

std::uint64_t Holdings::take(Held held) {
  const std::uint64_t token = ++last_token_;
  count(held);
  tokens_[held.message_id] = token;
  held_.emplace(token, std::move(held));
  return token;
}

void Holdings::count(Held& held) {
  held.counted = true;
  ++all_;
  all_bytes_ += held.bytes;
}

void Holdings::uncount(Held& held) {
  if (!std::exchange(held.counted, false)) return;
  --all_;
  all_bytes_ -= held.bytes;
  if (!held.out) return;
  --out_;
  out_bytes_ -= held.bytes;
}

void Holdings::drop(std::uint64_t token) {
  const auto held = held_.find(token);
  if (held == held_.end()) return;
  uncount(held->second);
  tokens_.erase(held->second.message_id);
  held_.erase(held);
}

void Holdings::hand_out(std::uint64_t token) {
  Held& held = held_.at(token);
  held.out = true;
  ++out_;
  out_bytes_ += held.bytes;
}

void Holdings::expire(std::uint64_t token) {
  if (Held* held = find(token)) uncount(*held);
}

int Holdings::lapse(std::uint64_t token) {
  Held& held = held_.at(token);
  uncount(held);
  held.out = false;
  held.lapsed = true;
  lapsed_.push_back(token);
  while (lapsed_.size() > kLapsedMax) {
    const Held* oldest = find(lapsed_.front());
    if (oldest != nullptr && oldest->lapsed) drop(lapsed_.front());
    lapsed_.pop_front();
  }
  return ++held.lapses;
}

void Holdings::again(std::uint64_t token, std::string ack_id, int redeliveries) {
  Held& held = held_.at(token);
  held.ack_id = std::move(ack_id);
  held.redeliveries = std::max(held.lapses, redeliveries);
  held.lapsed = false;
  count(held);
}

}  // namespace dripgate::broker::pubsub
