#include "broker/pubsub/dead_letter_topic.h"

#include <utility>

#include "base/rfc3339.h"

namespace dripgate::broker::pubsub {
namespace {

Message to_message(const DeadLetter& letter, Message message) {
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

/// Without the event's own bytes and attributes.
Message to_notice(const DeadLetter& letter) {
  return to_message(
      letter, {.id = {}, .body = {}, .attributes = {{std::string(kCutAttribute), "true"}}, .published = {}});
}

}  // namespace

void DeadLetterTopic::add(DeadLetter letter, Done<void> done) {
  Message message = to_message(letter, letter.message);
  publish(std::move(message), std::move(letter), std::move(done), /*whole=*/true);
}

void DeadLetterTopic::publish(Message message, DeadLetter letter, Done<void> done, bool whole) {
  auto published = [this, whole, kept = std::move(letter),
                    answer = std::move(done)](Result<void> result) mutable {
    if (result) return kept_->add(std::move(kept), std::move(answer));
    // Pub/Sub takes a message that leaves no room for what we add: its letter must not stay away for that.
    if (!whole || result.error().code != ErrorCode::too_large) return answer(std::move(result));
    Message notice = to_notice(kept);
    publish(std::move(notice), std::move(kept), std::move(answer), /*whole=*/false);
  };
  topic_->publish(std::move(message), guard_.wrap(std::move(published)));
}

}  // namespace dripgate::broker::pubsub
