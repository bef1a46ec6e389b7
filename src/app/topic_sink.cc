#include "app/topic_sink.h"

#include <utility>

namespace dripgate::app {

void TopicSink::deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) {
  if (clock_.now() >= outgoing.valid_until) return done({broker::SinkVerdict::expired, {}, {}});
  broker::Message message = std::move(outgoing.message);
  const std::string* event_id = broker::find(message.attributes, "dripgate-id");
  message.id = stream_ + ":" + (event_id != nullptr ? *event_id : message.id);
  topic_->publish(std::move(message), [done = std::move(done)](Result<void> published) mutable {
    broker::SinkAnswer answer;
    if (!published) answer = {broker::SinkVerdict::failed, {}, published.error().detail};
    done(std::move(answer));
  });
}

}  // namespace dripgate::app
