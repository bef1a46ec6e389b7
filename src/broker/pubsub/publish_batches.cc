#include "broker/pubsub/publish_batches.h"

#include <algorithm>
#include <utility>

#include "broker/pubsub/message_codec.h"

namespace dripgate::broker::pubsub {

void PublishBatches::add(WireMessage message, Done<void> done) {
  ++held_;
  const std::string key = message.ordering_key;
  Lane& lane = key.empty() ? free_ : keyed_[key];
  const std::size_t bytes = wire_bytes(message);
  if (!key.empty() && lane.waiting.empty() && lane.in_flight == 0) ready_.push_back(key);
  lane.bytes += bytes;
  lane.waiting.push_back({std::move(message), std::move(done), bytes});
}

bool PublishBatches::may_go(const Lane& free) const {
  if (free.waiting.empty() || free.in_flight >= kPublishesInFlight) return false;
  return free.in_flight == 0 || due_ > 0 || free.waiting.size() >= kPublishMessagesMax ||
         free.bytes >= kPublishBytesMax;
}

std::optional<PublishBatch> PublishBatches::next() {
  if (may_go(free_)) {
    PublishBatch batch = take(free_);
    due_ -= std::min(due_, batch.messages.size());
    return batch;
  }
  if (ready_.empty() || in_flight_ >= kOrderedPublishesInFlight) return std::nullopt;
  const std::string key = std::move(ready_.front());
  ready_.pop_front();
  PublishBatch batch = take(keyed_.at(key));
  batch.ordering_key = key;
  return batch;
}

PublishBatch PublishBatches::take(Lane& lane) {
  PublishBatch batch;
  std::size_t bytes = 0;
  while (!lane.waiting.empty() && batch.messages.size() < kPublishMessagesMax) {
    Waiting& first = lane.waiting.front();
    if (!batch.messages.empty() && bytes + first.bytes > kPublishBytesMax) break;
    bytes += first.bytes;
    batch.messages.push_back(std::move(first.message));
    batch.done.push_back(std::move(first.done));
    lane.waiting.pop_front();
  }
  lane.bytes -= bytes;
  ++lane.in_flight;
  ++in_flight_;
  return batch;
}

void PublishBatches::ended(const PublishBatch& batch) {
  held_ -= batch.messages.size();
  --in_flight_;
  if (batch.ordering_key.empty()) {
    --free_.in_flight;
    return;
  }
  const auto lane = keyed_.find(batch.ordering_key);
  --lane->second.in_flight;
  if (!lane->second.waiting.empty()) {
    ready_.push_back(batch.ordering_key);
  } else {
    keyed_.erase(lane);
  }
}

}  // namespace dripgate::broker::pubsub
