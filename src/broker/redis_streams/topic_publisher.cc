#include "broker/redis_streams/topic_publisher.h"

#include <utility>

#include "broker/attributes_codec.h"
#include "broker/redis_streams/keys.h"
#include "broker/redis_streams/lua/texts.h"

namespace dripgate::broker::redis_streams {
namespace {

std::string milliseconds(Duration span) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
}

}  // namespace

TopicPublisher::Partition::Partition(const ContextPtr& context, std::string hash_tag)
    : tag(std::move(hash_tag)),
      queue(context, lua::publish, {stream_key(context->options.prefix, tag)},
            {milliseconds(context->options.message_id_ttl)}) {}

TopicPublisher::TopicPublisher(ContextPtr context, const std::string& topic)
    : context_(std::move(context)), listeners_(context_->wakeups.of(topic)) {
  for (std::size_t i = 0; i < context_->options.partitions; ++i) {
    Partition& partition = partitions_.emplace_back(context_, partition_tag(topic, i));
    partition.queue.on_reply([listeners = listeners_](const redis::Reply&) {
      for (Listener* listener : *listeners) listener->wake();
    });
  }
}

void TopicPublisher::publish(Message message, Done<void> done) {
  const std::string& prefix = context_->options.prefix;
  const bool named = !message.id.empty();
  const std::size_t index =
      named ? partition_of(message.id, partitions_.size()) : next_++ % partitions_.size();
  Partition& partition = partitions_[index];
  ScriptQueue::Call call;
  // Without an id there is no record: the stream's own key stands for it (publish.lua).
  call.key = named ? id_record_key(prefix, partition.tag, message.id) : stream_key(prefix, partition.tag);
  call.arguments.resize(3);
  call.arguments[0] = std::move(message.id);
  encode_attributes(message.attributes, call.arguments[1]);
  call.arguments[2] = std::move(message.body);
  call.done = std::move(done);
  partition.queue.add(std::move(call));
}

}  // namespace dripgate::broker::redis_streams
