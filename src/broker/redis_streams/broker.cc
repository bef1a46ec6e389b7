// Broker: hands out the parts.
#include "broker/redis_streams/broker.h"

#include <algorithm>

#include "broker/redis_streams/claim_store.h"
#include "broker/redis_streams/context.h"
#include "broker/redis_streams/dead_letter_list.h"
#include "broker/redis_streams/stream_timer.h"
#include "broker/redis_streams/topic_publisher.h"
#include "broker/redis_streams/topic_source.h"

namespace dripgate::broker::redis_streams {

Broker::Broker(redis::Client& client, Executor& executor, Options options)
    : context_(std::make_shared<Context>(client, executor, std::move(options))) {
  context_->options.partitions = std::clamp<std::size_t>(context_->options.partitions, 1, kPartitionsMax);
}

Broker::~Broker() = default;

std::unique_ptr<Publisher> Broker::publisher(std::string topic) {
  return std::make_unique<TopicPublisher>(context_, topic);
}

std::unique_ptr<EventSource> Broker::source(std::string topic) {
  return std::make_unique<TopicSource>(context_, topic);
}

std::unique_ptr<Timer> Broker::timer(std::string stream) {
  return std::make_unique<StreamTimer>(context_, stream);
}

std::unique_ptr<DeadLetters> Broker::dead_letters(std::string topic) {
  return std::make_unique<DeadLetterList>(context_, topic);
}

std::unique_ptr<Claims> Broker::claims(const std::string& stream, const ClaimBounds& bounds) {
  return std::make_unique<ClaimStore>(context_, stream, bounds);
}

}  // namespace dripgate::broker::redis_streams
