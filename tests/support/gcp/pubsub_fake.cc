#include "support/gcp/pubsub_fake.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "google/pubsub/v1/pubsub.grpc.pb.h"
#include "support/gcp/pubsub_model.h"

namespace dripgate::testing {
namespace {

using grpc::ServerContext;
using grpc::Status;
using grpc::StatusCode;
using Empty = google::protobuf::Empty;

/// How often streams and leases are looked at.
constexpr std::chrono::milliseconds kTick{5};
constexpr std::chrono::seconds kShutdownGrace{2};
constexpr std::size_t kAckBytesMax = 512 << 10;

Status failed(StatusCode code, const std::string& text) {
  return {code, text};
}

}  // namespace

struct PubsubFake::Impl {
  class Pull;
  using Reactor = grpc::ServerBidiReactor<proto::StreamingPullRequest, proto::StreamingPullResponse>;

  struct Publishing final : proto::Publisher::Service {
    explicit Publishing(Impl& of) : fake(of) {}
    Status CreateTopic(ServerContext*, const proto::Topic* request, proto::Topic* made) override {
      const std::scoped_lock lock(fake.mutex);
      *made = *request;
      return fake.model.topics.insert(request->name()).second
                 ? Status::OK
                 : failed(StatusCode::ALREADY_EXISTS, "there is one");
    }
    Status GetTopic(ServerContext*, const proto::GetTopicRequest* request, proto::Topic* found) override {
      const std::scoped_lock lock(fake.mutex);
      found->set_name(request->topic());
      return fake.model.topics.contains(request->topic()) ? Status::OK
                                                          : failed(StatusCode::NOT_FOUND, "no topic");
    }
    Status Publish(ServerContext*, const proto::PublishRequest* request,
                   proto::PublishResponse* response) override {
      const std::scoped_lock lock(fake.mutex);
      return fake.faulty("Publish", request->topic(), [&] {
        const Status status = fake.model.publish(*request, *response);
        if (!status.ok() || !fake.listener) return status;
        for (const auto& message : request->messages()) fake.listener(request->topic(), message.data());
        return status;
      });
    }
    Impl& fake;
  };

  struct Subscribing final : proto::Subscriber::WithCallbackMethod_StreamingPull<proto::Subscriber::Service> {
    explicit Subscribing(Impl& of) : fake(of) {}
    Status CreateSubscription(ServerContext*, const proto::Subscription* request,
                              proto::Subscription* made) override {
      const std::scoped_lock lock(fake.mutex);
      *made = *request;
      auto& subscriptions = fake.model.subscriptions;
      if (!fake.model.topics.contains(request->topic())) return failed(StatusCode::NOT_FOUND, "no topic");
      if (subscriptions.contains(request->name())) return failed(StatusCode::ALREADY_EXISTS, "there is one");
      subscriptions[request->name()].facts = *request;
      return Status::OK;
    }
    Status GetSubscription(ServerContext*, const proto::GetSubscriptionRequest* request,
                           proto::Subscription* found) override {
      const std::scoped_lock lock(fake.mutex);
      const auto at = fake.model.subscriptions.find(request->subscription());
      if (at == fake.model.subscriptions.end()) return failed(StatusCode::NOT_FOUND, "no subscription");
      *found = at->second.facts;
      return Status::OK;
    }
    Status Acknowledge(ServerContext*, const proto::AcknowledgeRequest* request, Empty*) override {
      const std::scoped_lock lock(fake.mutex);
      if (request->ByteSizeLong() > kAckBytesMax) return failed(StatusCode::INVALID_ARGUMENT, "over 512 KiB");
      return fake.faulty("Acknowledge", request->subscription(),
                         [&] { return fake.model.acknowledge(*request); });
    }
    Status ModifyAckDeadline(ServerContext*, const proto::ModifyAckDeadlineRequest* request,
                             Empty*) override {
      const std::scoped_lock lock(fake.mutex);
      if (request->ByteSizeLong() > kAckBytesMax) return failed(StatusCode::INVALID_ARGUMENT, "over 512 KiB");
      if (request->ack_deadline_seconds() < 0 || request->ack_deadline_seconds() > 600)
        return failed(StatusCode::INVALID_ARGUMENT, "ack_deadline_seconds is 0 to 600");
      return fake.faulty("ModifyAckDeadline", request->subscription(),
                         [&] { return fake.model.modify(*request); });
    }
    Reactor* StreamingPull(grpc::CallbackServerContext*) override { return fake.open(); }
    Impl& fake;
  };

  explicit Impl(int scale) : model(scale), publishing(*this), subscribing(*this) {
    listen();
    ticker = std::thread([this] { tick(); });
  }
  ~Impl() {
    close();
    {
      const std::scoped_lock lock(mutex);
      ending = true;
    }
    ticker.join();
  }

  void listen() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(), &port)
        .AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0)
        .SetMaxReceiveMessageSize(20 << 20)
        .RegisterService(&publishing)
        .RegisterService(&subscribing);
    server = builder.BuildAndStart();
  }

  void close() {
    end_streams(StatusCode::UNAVAILABLE);
    server->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
    server->Wait();
  }

  // The mutex is held.
  template <class Do>
  Status faulty(const std::string& method, const std::string& place, Do does) {
    PubsubFaults& faults = model.faults;
    const CallFate fate = faults.call ? faults.call(method, place) : CallFate::serve;
    if (fate == CallFate::refuse) return failed(StatusCode::UNAVAILABLE, "refused by the test");
    const bool matches = faults.method.empty() || faults.method == method;
    if (matches && faults.refuse_calls > 0) {
      --faults.refuse_calls;
      return failed(static_cast<StatusCode>(faults.refuse), "refused by the test");
    }
    const Status status = does();
    if (fate == CallFate::lose_reply) return failed(StatusCode::UNAVAILABLE, "the reply is lost");
    if (!matches || faults.lose_replies <= 0 || !status.ok()) return status;
    --faults.lose_replies;
    return failed(StatusCode::UNAVAILABLE, "the reply is lost");
  }

  Reactor* open();
  void end_streams(StatusCode code);
  void tick();

  std::mutex mutex;
  PubsubModel model;
  std::map<std::uint64_t, Pull*> streams;
  std::uint64_t next_stream = 0;
  std::function<void(const std::string& topic, const std::string& body)> listener;
  bool ending = false;
  int port = 0;
  Publishing publishing;
  Subscribing subscribing;
  std::unique_ptr<grpc::Server> server;
  std::thread ticker;
};

// One stream. Deletes itself; everything under the fake's lock.
class PubsubFake::Impl::Pull final : public Reactor {
 public:
  Pull(Impl& fake, std::uint64_t number) : fake_(fake), number_(number) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    const std::scoped_lock lock(fake_.mutex);
    if (!ok) return end(Status::OK);
    const Status heard = begun_ ? hear() : begin();
    if (!heard.ok()) return end(heard);
    if (!finished_) StartRead(&request_);
  }
  void OnWriteDone(bool ok) override {
    const std::scoped_lock lock(fake_.mutex);
    writing_ = false;
    if (last_) return Finish(*last_);
    if (!ok) return end(Status::CANCELLED);
    pump();
  }
  void OnCancel() override {
    const std::scoped_lock lock(fake_.mutex);
    end(Status::CANCELLED);
  }
  void OnDone() override {
    {
      const std::scoped_lock lock(fake_.mutex);
      fake_.streams.erase(number_);
    }
    delete this;
  }

  // The lock is held from here on.
  void end(const Status& status) {
    if (std::exchange(finished_, true)) return;
    writing_ ? void(last_ = status) : Finish(status);
  }
  void pump() {
    if (!begun_ || writing_ || finished_) return;
    const std::int64_t most = fake_.model.faults.stream_messages;
    if (most > 0 && sent_ >= most) return end(failed(StatusCode::UNAVAILABLE, "the stream ends"));
    response_.Clear();
    if (!fake_.model.fill(number_, bounds_, response_) && told_) return;
    sent_ += response_.received_messages_size();
    told_ = true;
    writing_ = true;
    StartWrite(&response_);
    const auto& call = fake_.model.faults.call;
    if (call && response_.received_messages_size() > 0) (void)call("StreamingPull", bounds_.subscription);
  }

 private:
  Status begin() {
    if (!fake_.model.subscriptions.contains(request_.subscription()))
      return failed(StatusCode::NOT_FOUND, "no subscription");
    if (request_.stream_ack_deadline_seconds() < 10 || request_.stream_ack_deadline_seconds() > 600)
      return failed(StatusCode::INVALID_ARGUMENT, "stream_ack_deadline_seconds is 10 to 600");
    bounds_ = {.subscription = request_.subscription(),
               .lease_seconds = request_.stream_ack_deadline_seconds(),
               .messages_max = request_.max_outstanding_messages(),
               .bytes_max = request_.max_outstanding_bytes()};
    ++fake_.model.counts.streams;
    begun_ = true;
    pump();
    return Status::OK;
  }
  Status hear() {
    ++fake_.model.counts.pings;
    if (!request_.subscription().empty() || request_.max_outstanding_messages() != 0 ||
        request_.max_outstanding_bytes() != 0 || !request_.ack_ids().empty())
      return failed(StatusCode::INVALID_ARGUMENT, "not in a later request");
    if (request_.stream_ack_deadline_seconds() != 0)
      bounds_.lease_seconds = request_.stream_ack_deadline_seconds();
    return Status::OK;
  }

  Impl& fake_;
  const std::uint64_t number_;
  PullBounds bounds_;
  proto::StreamingPullRequest request_;
  proto::StreamingPullResponse response_;
  std::int64_t sent_ = 0;
  bool begun_ = false;
  bool told_ = false;  // the properties of the subscription
  bool writing_ = false;
  bool finished_ = false;
  std::optional<Status> last_;  // waits for the write that is on its way
};

PubsubFake::Impl::Reactor* PubsubFake::Impl::open() {
  const std::scoped_lock lock(mutex);
  auto* pull = new Pull(*this, ++next_stream);
  streams[next_stream] = pull;
  return pull;
}

void PubsubFake::Impl::end_streams(StatusCode code) {
  const std::scoped_lock lock(mutex);
  for (auto& [number, pull] : streams) pull->end(failed(code, "ended by the test"));
}

void PubsubFake::Impl::tick() {
  std::unique_lock lock(mutex);
  std::condition_variable never;
  while (!ending) {
    for (auto& [number, pull] : streams) pull->pump();
    never.wait_for(lock, kTick);
  }
}

PubsubFake::PubsubFake(int scale) : impl_(std::make_unique<Impl>(scale)) {}

PubsubFake::~PubsubFake() = default;

std::string PubsubFake::endpoint() const {
  return "127.0.0.1:" + std::to_string(impl_->port);
}

void PubsubFake::set(PubsubFaults faults) {
  const std::scoped_lock lock(impl_->mutex);
  impl_->model.faults = std::move(faults);
}

void PubsubFake::publish(const std::string& topic, const std::vector<std::string>& bodies) {
  const std::scoped_lock lock(impl_->mutex);
  for (const std::string& body : bodies) {
    proto::PublishRequest request;
    proto::PublishResponse response;
    request.set_topic(topic);
    request.add_messages()->set_data(body);
    if (!impl_->model.publish(request, response).ok()) throw std::runtime_error("there is no " + topic);
  }
  for (auto& [number, pull] : impl_->streams) pull->pump();
}

void PubsubFake::listen(std::function<void(const std::string& topic, const std::string& body)> heard) {
  const std::scoped_lock lock(impl_->mutex);
  impl_->listener = std::move(heard);
}

PubsubCounts PubsubFake::counts() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->model.counts;
}

void PubsubFake::restart() {
  impl_->close();
  impl_->listen();
}

void PubsubFake::end_streams(int code) {
  impl_->end_streams(static_cast<grpc::StatusCode>(code));
}

}  // namespace dripgate::testing
