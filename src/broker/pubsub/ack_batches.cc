#include "broker/pubsub/ack_batches.h"

#include <utility>

namespace dripgate::broker::pubsub {
namespace {

// Counts ids into one request.
class Room {
 public:
  bool take(const std::string& id) {
    bytes_ += id.size() + kAckIdOverhead;
    return ++ids_ == 1 || (ids_ <= kAckIdsMax && bytes_ <= kAckBytesMax);
  }

 private:
  std::size_t ids_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

std::vector<std::string> AckRequest::ids() const {
  std::vector<std::string> ids;
  ids.reserve(entries.size());
  for (const AckEntry& entry : entries) ids.push_back(entry.id);
  return ids;
}

void AckBatches::ack(AckEntry entry) {
  forget(entry.id);
  acking_.insert(entry.id);
  acks_.push_back(std::move(entry));
}

void AckBatches::modify(AckEntry entry, int seconds) {
  std::string id = entry.id;
  if (acking_.contains(id)) return;
  const auto waits = changes_.find(id);
  if (waits != changes_.end() && !entry.done) entry.done = std::move(waits->second.entry.done);
  changes_.insert_or_assign(id, Change{std::move(entry), seconds});
  order_[seconds].push_back(std::move(id));
}

void AckBatches::forget(const std::string& id) {
  changes_.erase(id);
}

std::optional<AckRequest> AckBatches::next() {
  if (empty()) {
    order_.clear();
    return std::nullopt;
  }
  const bool acks = changes_.empty() || (ack_turn_ && !acks_.empty());
  ack_turn_ = !acks;
  return acks ? next_acks() : next_changes();
}

AckRequest AckBatches::next_acks() {
  AckRequest request;
  Room room;
  while (!acks_.empty() && room.take(acks_.front().id)) {
    acking_.erase(acks_.front().id);
    request.entries.push_back(std::move(acks_.front()));
    acks_.pop_front();
  }
  return request;
}

AckRequest AckBatches::next_changes() {
  AckRequest request;
  Room room;
  while (request.entries.empty() && !order_.empty()) {
    const auto lane = order_.begin();
    const int seconds = lane->first;
    std::deque<std::string>& ids = lane->second;
    request.seconds = seconds;
    while (!ids.empty()) {
      const auto change = changes_.find(ids.front());
      if (change != changes_.end() && change->second.seconds == seconds) {
        if (!room.take(ids.front())) return request;
        request.entries.push_back(std::move(change->second.entry));
        changes_.erase(change);
      }
      ids.pop_front();
    }
    order_.erase(lane);
  }
  return request;
}

}  // namespace dripgate::broker::pubsub
