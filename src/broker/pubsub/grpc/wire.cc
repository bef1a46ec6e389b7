#include "broker/pubsub/grpc/wire.h"

#include <array>
#include <utility>

#include "dripgate/status_details.pb.h"

namespace dripgate::broker::pubsub {
namespace {

constexpr std::string_view kErrorInfo = "google.rpc.ErrorInfo";

WallTime to_time(const google::protobuf::Timestamp& time) {
  return WallTime{std::chrono::seconds{time.seconds()} +
                  std::chrono::duration_cast<Duration>(std::chrono::nanoseconds{time.nanos()})};
}

Received read(proto::ReceivedMessage& from) {
  Received received;
  received.ack_id = std::move(*from.mutable_ack_id());
  received.delivery_attempt = from.delivery_attempt();
  proto::PubsubMessage& message = *from.mutable_message();
  received.message.data = std::move(*message.mutable_data());
  received.message.ordering_key = std::move(*message.mutable_ordering_key());
  received.message.id = std::move(*message.mutable_message_id());
  received.message.published = to_time(message.publish_time());
  for (auto& [name, value] : *message.mutable_attributes())
    received.message.attributes.emplace_back(name, std::move(value));
  return received;
}

}  // namespace

void write(const WireMessage& message, proto::PubsubMessage& out) {
  out.set_data(message.data);
  out.set_ordering_key(message.ordering_key);
  auto& attributes = *out.mutable_attributes();
  for (const auto& [name, value] : message.attributes) attributes[name] = value;
}

Pulled read(proto::StreamingPullResponse& response) {
  Pulled pulled;
  if (response.has_subscription_properties())
    pulled.exactly_once = response.subscription_properties().exactly_once_delivery_enabled();
  pulled.messages.reserve(static_cast<std::size_t>(response.received_messages_size()));
  for (proto::ReceivedMessage& received : *response.mutable_received_messages())
    pulled.messages.push_back(read(received));
  return pulled;
}

SubscriptionFacts read(const proto::Subscription& subscription) {
  return {.topic = subscription.topic(),
          .ack_deadline_seconds = subscription.ack_deadline_seconds(),
          .ordering = subscription.enable_message_ordering(),
          .push = !subscription.push_config().push_endpoint().empty(),
          .detached = subscription.detached(),
          .dead_letter_topic = subscription.dead_letter_policy().dead_letter_topic(),
          .max_delivery_attempts = subscription.dead_letter_policy().max_delivery_attempts()};
}

Failure to_failure(const ::grpc::Status& status) {
  Failure failure{.status = static_cast<Status>(status.error_code()), .text = status.error_message()};
  wire::StatusDetails details;
  if (status.error_details().empty() || !details.ParseFromString(status.error_details())) return failure;
  for (const wire::Detail& detail : details.details()) {
    wire::ErrorInfo info;
    if (!std::string_view(detail.type_url()).ends_with(kErrorInfo) || !info.ParseFromString(detail.value()))
      continue;
    for (const auto& [id, why] : info.metadata()) failure.ids.emplace(id, why);
  }
  return failure;
}

std::string request_params(std::string_view field, std::string_view name) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string text(field);
  text += '=';
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      text += c;
    } else {
      text += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return text;
}

}  // namespace dripgate::broker::pubsub
