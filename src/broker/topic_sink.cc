#include "broker/topic_sink.h"

#include <utility>

#include "broker/attribute_names.h"

namespace dripgate::broker {

void TopicSink::deliver(Outgoing outgoing, std::move_only_function<void(SinkAnswer)> done) {
  if (clock_.now() >= outgoing.valid_until) return done({SinkVerdict::expired, {}, {}});
  Message message = std::move(outgoing.message);
  const std::string* event_id = find(message.attributes, kIdAttribute);
  message.id = stream_ + ":" + (event_id != nullptr ? *event_id : message.id);
  topic_->publish(std::move(message), [done = std::move(done)](Result<void> published) mutable {
    SinkAnswer answer;
    if (!published) answer = {SinkVerdict::failed, {}, published.error().detail};
    done(std::move(answer));
  });
}

}  // namespace dripgate::broker
