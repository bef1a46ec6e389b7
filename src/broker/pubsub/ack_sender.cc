#include "broker/pubsub/ack_sender.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace dripgate::broker::pubsub {

void AckSender::ack(std::string id, Done<void> done) {
  batches_.ack({.id = std::move(id), .done = std::move(done)});
  post_look();
}

void AckSender::modify(std::string id, int seconds, Done<void> done) {
  batches_.modify({.id = std::move(id), .done = std::move(done)}, seconds);
  post_look();
}

// Posted, so that what is decided in one turn goes out together.
void AckSender::post_look() {
  if (busy_ || std::exchange(look_posted_, true)) return;
  context_->executor.post(guard_.wrap([this] {
    look_posted_ = false;
    look();
  }));
}

void AckSender::look() {
  if (busy_) return;
  auto next = batches_.next();
  if (!next || next->entries.empty()) return;
  busy_ = true;
  auto request = std::make_shared<AckRequest>(*std::move(next));
  const std::vector<std::string> ids = request->ids();
  auto done =
      guard_.wrap([this, request](Answer<void> answer) { answered(std::move(*request), std::move(answer)); });
  if (request->seconds) {
    context_->transport->modify_ack_deadline(subscription_, ids, *request->seconds, kAckDeadline,
                                             std::move(done));
  } else {
    context_->transport->acknowledge(subscription_, ids, kAckDeadline, std::move(done));
  }
}

void AckSender::answered(AckRequest request, Answer<void> answer) {
  if (!answer) return again(std::move(request), answer.error());
  failures_ = 0;
  busy_ = false;
  post_look();
  for (AckEntry& entry : request.entries) {
    if (entry.done) entry.done({});
  }
}

// What may succeed later goes back into the queue, and the subscription is left alone for a while.
void AckSender::again(AckRequest request, const Failure& failure) {
  const int tries_max = request.seconds ? kModifyTriesMax : kAckTriesMax;
  std::vector<Done<void>> lost;
  for (AckEntry& entry : request.entries) {
    if (fate_of(failure, entry.id) == IdFate::lost || ++entry.tries >= tries_max) {
      if (entry.done) lost.push_back(std::move(entry.done));
    } else if (request.seconds) {
      batches_.modify(std::move(entry), *request.seconds);
    } else {
      batches_.ack(std::move(entry));
    }
  }
  const Duration wait = std::min(repeat_wait(++failures_), kSenderWaitMax);
  context_->executor.post_after(wait, guard_.wrap([this] {
    busy_ = false;
    post_look();
  }));
  const std::string what = (request.seconds ? "a lease of " : "an ack of ") + subscription_;
  const Error error = to_error(failure, what);
  for (Done<void>& done : lost) done(fail(ErrorCode::timed_out, error.detail, true));
}

}  // namespace dripgate::broker::pubsub
