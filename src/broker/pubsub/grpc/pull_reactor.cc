#include "broker/pubsub/grpc/pull_reactor.h"

#include <utility>

namespace dripgate::broker::pubsub {

void PullReactor::begin(proto::Subscriber::Stub& stub, const PullOptions& options,
                        std::shared_ptr<PullReactor> self) {
  self_ = std::move(self);
  context_->AddMetadata(kRequestParams, request_params("subscription", options.subscription));
  calls_->enter(context_);
  stub.async()->StreamingPull(context_.get(), this);
  AddHold();
  request_.set_subscription(options.subscription);
  request_.set_client_id(options.client_id);
  request_.set_stream_ack_deadline_seconds(options.ack_deadline_seconds);
  request_.set_max_outstanding_messages(options.max_outstanding_messages);
  request_.set_max_outstanding_bytes(options.max_outstanding_bytes);
  writing_ = true;
  StartWrite(&request_);
  StartCall();
}

void PullReactor::read() {
  const std::scoped_lock lock(mutex_);
  if (held_) StartRead(&response_);
}

void PullReactor::ping(int ack_deadline_seconds) {
  const std::scoped_lock lock(mutex_);
  ping_ = ack_deadline_seconds;
  if (held_ && !writing_) write_ping();
}

// The mutex is held.
void PullReactor::write_ping() {
  request_.Clear();
  request_.set_stream_ack_deadline_seconds(*std::exchange(ping_, std::nullopt));
  writing_ = true;
  StartWrite(&request_);
}

void PullReactor::abandon() {
  handler_.reset();
  context_->TryCancel();
  let_go();
}

void PullReactor::let_go() {
  {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(held_, false)) return;
  }
  RemoveHold();
}

void PullReactor::OnReadDone(bool ok) {
  if (!ok) return let_go();
  executor_.post([handler = watched_, pulled = pubsub::read(response_)]() mutable {
    if (const auto alive = handler.lock()) alive->pulled(std::move(pulled));
  });
}

void PullReactor::OnWriteDone(bool ok) {
  if (!ok) return let_go();
  const std::scoped_lock lock(mutex_);
  writing_ = false;
  if (held_ && ping_) write_ping();
}

void PullReactor::OnDone(const ::grpc::Status& status) {
  executor_.post([handler = watched_, failure = to_failure(status)] {
    if (const auto alive = handler.lock()) alive->ended(failure);
  });
  const std::shared_ptr<PullReactor> last = std::move(self_);  // ends here, unless its handle is still there
  calls_->leave(context_);
}

}  // namespace dripgate::broker::pubsub
