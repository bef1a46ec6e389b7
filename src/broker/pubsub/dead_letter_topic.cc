#include "broker/pubsub/dead_letter_topic.h"

#include <utility>

#include "base/rfc3339.h"

namespace dripgate::broker::pubsub {
namespace {

Message to_message(const DeadLetter& letter) {
  Message message = letter.message;
  message.id = "dead:" + letter.event_id + ":" + std::to_string(letter.generation);
  set(message.attributes, kIdAttribute, letter.event_id);
  if (!letter.key.empty()) set(message.attributes, kKeyAttribute, letter.key);
  set(message.attributes, kReasonAttribute, letter.reason);
  set(message.attributes, kDetailAttribute, letter.detail.substr(0, kDetailBytesMax));
  set(message.attributes, kAttemptsAttribute, std::to_string(letter.attempts));
  set(message.attributes, kFirstReceivedAttribute, format_rfc3339(letter.first_received));
  set(message.attributes, kDeadAtAttribute, format_rfc3339(letter.dead_at));
  return message;
}

}  // namespace

void DeadLetterTopic::add(DeadLetter letter, Done<void> done) {
  Message message = to_message(letter);
  auto published = [this, kept = std::move(letter), answer = std::move(done)](Result<void> result) mutable {
    if (!result) return answer(std::move(result));
    kept_->add(std::move(kept), std::move(answer));
  };
  topic_->publish(std::move(message), guard_.wrap(std::move(published)));
}

}  // namespace dripgate::broker::pubsub
