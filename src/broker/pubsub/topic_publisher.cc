#include "broker/pubsub/topic_publisher.h"

#include <utility>

#include "broker/pubsub/message_codec.h"

namespace dripgate::broker::pubsub {

TopicPublisher::TopicPublisher(ContextPtr context, std::string topic)
    : context_(std::move(context)), topic_(std::move(topic)) {}

void TopicPublisher::publish(Message message, Done<void> done) {
  auto wire = to_wire(std::move(message));
  if (!wire) return done(std::unexpected(std::move(wire.error())));
  if (!batches_.has_room()) {
    return done(fail(ErrorCode::full,
                     topic_ + ": " + std::to_string(kPublishQueueMax) + " messages wait to be published",
                     true));
  }
  batches_.add(*std::move(wire), std::move(done));
  post_look();
}

// Posted, so that what is published in one turn goes out together.
void TopicPublisher::post_look() {
  if (std::exchange(look_posted_, true)) return;
  context_->executor.post(guard_.wrap([this] {
    look_posted_ = false;
    look();
  }));
}

void TopicPublisher::look() {
  while (auto batch = batches_.next()) send(std::make_shared<PublishBatch>(*std::move(batch)));
  if (batches_.waiting() > 0) linger();
}

void TopicPublisher::linger() {
  if (std::exchange(lingering_, true)) return;
  context_->executor.post_after(kPublishLinger, guard_.wrap([this] {
    lingering_ = false;
    batches_.linger_over();
    look();
  }));
}

void TopicPublisher::send(BatchPtr batch) {
  ++batch->tries;
  std::span<const WireMessage> messages = batch->messages;
  if (batch->alone) messages = messages.subspan(*batch->alone, 1);
  context_->transport->publish(topic_, messages, kPublishDeadline,
                               guard_.wrap([this, batch](Answer<std::vector<std::string>> answer) {
                                 answered(batch, std::move(answer));
                               }));
}

void TopicPublisher::answered(const BatchPtr& batch, Answer<std::vector<std::string>> answer) {
  if (answer) return finish(batch, {});
  const Failure& failure = answer.error();
  if (publish_again(failure) && batch->tries < kPublishTriesMax) {
    return context_->executor.post_after(repeat_wait(batch->tries),
                                         guard_.wrap([this, batch] { send(batch); }));
  }
  if (failure.status == Status::invalid_argument && batch->messages.size() > 1 && !batch->alone) {
    batch->alone = 0;
    batch->tries = 0;
    return send(batch);
  }
  finish(batch, std::unexpected(to_error(failure, "publish to " + topic_)));
}

void TopicPublisher::finish(const BatchPtr& batch, const Result<void>& result) {
  if (batch->alone) {
    Done<void> done = std::move(batch->done[*batch->alone]);
    if (++*batch->alone < batch->messages.size()) {
      batch->tries = 0;
      send(batch);
    } else {
      batches_.ended(*batch);
      post_look();
    }
    return done(result);
  }
  batches_.ended(*batch);
  post_look();
  // The last of them may end this publisher: the batch holds them all.
  for (Done<void>& done : batch->done) done(result);
}

}  // namespace dripgate::broker::pubsub
