// Publisher to a topic on Redis Streams: the id says the partition, publishes that queue go out together.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "broker/publisher.h"
#include "broker/redis_streams/script_queue.h"

namespace dripgate::broker::redis_streams {

class TopicPublisher final : public Publisher {
 public:
  TopicPublisher(ContextPtr context, const std::string& topic);
  void publish(Message message, Done<void> done) override;

 private:
  struct Partition {
    Partition(const ContextPtr& context, std::string hash_tag);
    std::string tag;
    ScriptQueue queue;
  };

  ContextPtr context_;
  std::shared_ptr<Wakeups::Listeners> listeners_;
  std::deque<Partition> partitions_;
  std::size_t next_ = 0;  // for messages without an id
};

}  // namespace dripgate::broker::redis_streams
