// PullReactor: one StreamingPull as gRPC's callbacks see it. Owns itself from begin() until OnDone; the
// handle on the executor's side (PullStream) goes before it. Everything that it hears goes to the executor.
//
// One write is on its way at a time, and a later ping replaces one that waits. The hold is there for reads
// and writes that begin outside of callbacks; it goes when the stream ends from either side.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include "broker/pubsub/grpc/calls.h"
#include "broker/pubsub/grpc/wire.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"

namespace dripgate::broker::pubsub {

class PullReactor final
    : public ::grpc::ClientBidiReactor<proto::StreamingPullRequest, proto::StreamingPullResponse> {
 public:
  PullReactor(Executor& executor, std::shared_ptr<Calls> calls, PullHandler handler)
      : executor_(executor),
        calls_(std::move(calls)),
        handler_(std::make_shared<PullHandler>(std::move(handler))),
        watched_(handler_) {}

  void begin(proto::Subscriber::Stub& stub, const PullOptions& options, std::shared_ptr<PullReactor> self);
  void read();
  void ping(int ack_deadline_seconds);
  /// Nothing is said to the handler after this.
  void abandon();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const ::grpc::Status& status) override;

 private:
  void write_ping();
  void let_go();

  Executor& executor_;
  std::shared_ptr<Calls> calls_;
  std::shared_ptr<PullHandler> handler_;      // of the executor: gone once abandoned
  const std::weak_ptr<PullHandler> watched_;  // of gRPC's threads, which only hand it on
  std::shared_ptr<::grpc::ClientContext> context_ = std::make_shared<::grpc::ClientContext>();
  std::shared_ptr<PullReactor> self_;

  std::mutex mutex_;  // of what follows
  bool held_ = true;
  bool writing_ = false;
  std::optional<int> ping_;
  proto::StreamingPullRequest request_;  // the one on its way
  proto::StreamingPullResponse response_;
};

/// Ends the stream with itself.
class GrpcPullStream final : public PullStream {
 public:
  explicit GrpcPullStream(std::shared_ptr<PullReactor> reactor) : reactor_(std::move(reactor)) {}
  ~GrpcPullStream() override { reactor_->abandon(); }
  void read() override { reactor_->read(); }
  void ping(int ack_deadline_seconds) override { reactor_->ping(ack_deadline_seconds); }

 private:
  std::shared_ptr<PullReactor> reactor_;
};

}  // namespace dripgate::broker::pubsub
