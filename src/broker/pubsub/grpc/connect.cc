#include "broker/pubsub/connect.h"

#include <array>
#include <atomic>
#include <utility>

#include <grpcpp/channel.h>

#include "broker/pubsub/grpc/calls.h"
#include "broker/pubsub/grpc/pull_reactor.h"
#include "broker/pubsub/grpc/wire.h"
#include "google/pubsub/v1/pubsub.grpc.pb.h"

namespace dripgate::broker::pubsub {
namespace {

using ChannelPtr = std::shared_ptr<::grpc::Channel>;

gpr_timespec after(Duration span) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_micros(span.count(), GPR_TIMESPAN));
}

template <class Request, class Response>
struct Call {
  Calls::Context context = std::make_shared<::grpc::ClientContext>();
  Request request;
  Response response;
};

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(Executor& executor, std::vector<ChannelPtr> channels) : executor_(executor) {
    publisher_ = proto::Publisher::NewStub(channels.front());
    subscriber_ = proto::Subscriber::NewStub(channels.front());
    for (std::size_t i = 1; i < channels.size(); ++i)
      streams_.push_back(proto::Subscriber::NewStub(channels[i]));
  }
  ~GrpcTransport() override { calls_->end(); }

  void publish(const std::string& topic, std::span<const WireMessage> messages, Duration deadline,
               Answered<std::vector<std::string>> done) override {
    auto call = std::make_shared<Call<proto::PublishRequest, proto::PublishResponse>>();
    call->request.set_topic(topic);
    call->request.mutable_messages()->Reserve(static_cast<int>(messages.size()));
    for (const WireMessage& message : messages) write(message, *call->request.add_messages());
    prepare(*call->context, "topic", topic, deadline);
    auto ended = when_ended<std::vector<std::string>>(call, std::move(done), [](auto& response) {
      auto& ids = *response.mutable_message_ids();
      return Answer<std::vector<std::string>>(std::in_place, std::move_iterator(ids.begin()),
                                              std::move_iterator(ids.end()));
    });
    publisher_->async()->Publish(call->context.get(), &call->request, &call->response, std::move(ended));
  }

  void acknowledge(const std::string& subscription, std::span<const std::string> ack_ids, Duration deadline,
                   Answered<void> done) override {
    auto call = std::make_shared<Call<proto::AcknowledgeRequest, google::protobuf::Empty>>();
    call->request.set_subscription(subscription);
    call->request.mutable_ack_ids()->Assign(ack_ids.begin(), ack_ids.end());
    prepare(*call->context, "subscription", subscription, deadline);
    auto ended = when_ended<void>(call, std::move(done), [](auto&) { return Answer<void>{}; });
    subscriber_->async()->Acknowledge(call->context.get(), &call->request, &call->response, std::move(ended));
  }

  void modify_ack_deadline(const std::string& subscription, std::span<const std::string> ack_ids, int seconds,
                           Duration deadline, Answered<void> done) override {
    auto call = std::make_shared<Call<proto::ModifyAckDeadlineRequest, google::protobuf::Empty>>();
    call->request.set_subscription(subscription);
    call->request.set_ack_deadline_seconds(seconds);
    call->request.mutable_ack_ids()->Assign(ack_ids.begin(), ack_ids.end());
    prepare(*call->context, "subscription", subscription, deadline);
    auto ended = when_ended<void>(call, std::move(done), [](auto&) { return Answer<void>{}; });
    subscriber_->async()->ModifyAckDeadline(call->context.get(), &call->request, &call->response,
                                            std::move(ended));
  }

  std::unique_ptr<PullStream> pull(const PullOptions& options, PullHandler handler) override {
    auto reactor = std::make_shared<PullReactor>(executor_, calls_, std::move(handler));
    reactor->begin(*streams_[next_stream_++ % streams_.size()], options, reactor);
    return std::make_unique<GrpcPullStream>(std::move(reactor));
  }

 private:
  static void prepare(::grpc::ClientContext& context, std::string_view field, const std::string& name,
                      Duration deadline) {
    context.set_deadline(after(deadline));
    context.AddMetadata(kRequestParams, request_params(field, name));
  }

  // On one of gRPC's threads: hands over, waits for nothing.
  template <class T, class CallPtr, class Read>
  std::function<void(::grpc::Status)> when_ended(CallPtr call, Answered<T> done, Read read_response) {
    calls_->enter(call->context);
    auto shared = std::make_shared<Answered<T>>(std::move(done));  // std::function wants a copy
    return [&executor = executor_, calls = calls_, alive = std::weak_ptr<char>(alive_), call, shared,
            read_response](const ::grpc::Status& status) {
      executor.post([alive, call, shared, read_response, status] {
        if (alive.expired()) return;
        if (!status.ok()) return (*shared)(std::unexpected(to_failure(status)));
        (*shared)(read_response(call->response));
      });
      calls->leave(call->context);
    };
  }

  Executor& executor_;
  std::unique_ptr<proto::Publisher::Stub> publisher_;
  std::unique_ptr<proto::Subscriber::Stub> subscriber_;
  std::vector<std::unique_ptr<proto::Subscriber::Stub>> streams_;
  std::size_t next_stream_ = 0;
  std::shared_ptr<Calls> calls_ = std::make_shared<Calls>();
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

class GrpcAdmin final : public Admin {
 public:
  explicit GrpcAdmin(const ChannelPtr& channel)
      : publisher_(proto::Publisher::NewStub(channel)), subscriber_(proto::Subscriber::NewStub(channel)) {}

  Answer<void> find_topic(const std::string& topic) override {
    proto::GetTopicRequest request;
    request.set_topic(topic);
    return answer("topic", topic, [&](auto* context) {
      proto::Topic found;
      return publisher_->GetTopic(context, request, &found);
    });
  }
  Answer<void> create_topic(const std::string& topic) override {
    proto::Topic request;
    request.set_name(topic);
    return answer("name", topic, [&](auto* context) {
      proto::Topic made;
      return publisher_->CreateTopic(context, request, &made);
    });
  }
  Answer<SubscriptionFacts> find_subscription(const std::string& subscription) override {
    proto::GetSubscriptionRequest request;
    request.set_subscription(subscription);
    proto::Subscription found;
    const Answer<void> answered = answer("subscription", subscription, [&](auto* context) {
      return subscriber_->GetSubscription(context, request, &found);
    });
    if (!answered) return std::unexpected(answered.error());
    return read(found);
  }
  Answer<void> create_subscription(const std::string& subscription, const SubscriptionFacts& facts) override {
    proto::Subscription request;
    request.set_name(subscription);
    request.set_topic(facts.topic);
    request.set_ack_deadline_seconds(facts.ack_deadline_seconds);
    return answer("name", subscription, [&](auto* context) {
      proto::Subscription made;
      return subscriber_->CreateSubscription(context, request, &made);
    });
  }

 private:
  template <class Ask>
  static Answer<void> answer(std::string_view field, const std::string& name, Ask ask) {
    ::grpc::ClientContext context;
    context.set_deadline(after(kAdminCallDeadline));
    context.AddMetadata(kRequestParams, request_params(field, name));
    const ::grpc::Status status = ask(&context);
    if (!status.ok()) return std::unexpected(to_failure(status));
    return {};
  }

  std::unique_ptr<proto::Publisher::Stub> publisher_;
  std::unique_ptr<proto::Subscriber::Stub> subscriber_;
};

}  // namespace

Result<Connection> connect(const gcp::Endpoint& endpoint, const gcp::Environment& environment,
                           Executor& executor) {
  std::vector<ChannelPtr> channels;
  for (int number = 0; number <= kStreamChannelsMax; ++number) {
    auto channel = gcp::open_channel(endpoint, number, environment);
    if (!channel) return std::unexpected(std::move(channel.error()));
    channels.push_back(*std::move(channel));
  }
  auto admin = std::make_unique<GrpcAdmin>(channels.front());
  return Connection{std::make_unique<GrpcTransport>(executor, std::move(channels)), std::move(admin)};
}

}  // namespace dripgate::broker::pubsub
