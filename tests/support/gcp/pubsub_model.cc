#include "support/gcp/pubsub_model.h"

#include <algorithm>

#include "dripgate/status_details.pb.h"

namespace dripgate::testing {
namespace {

using grpc::Status;
using grpc::StatusCode;
using Time = std::chrono::steady_clock::time_point;

constexpr int kResponseMessages = 100;
constexpr int kPublishMessagesMax = 1000;
constexpr std::size_t kPublishBytesMax = 10'000'000;

Status failed(StatusCode code, const std::string& text) {
  return {code, text};
}

Status by_ids(const std::map<std::string, std::string>& reasons) {
  wire::ErrorInfo info;
  for (const auto& [id, why] : reasons) (*info.mutable_metadata())[id] = why;
  wire::StatusDetails details;
  details.set_code(StatusCode::FAILED_PRECONDITION);
  auto& detail = *details.add_details();
  detail.set_type_url("type.googleapis.com/google.rpc.ErrorInfo");
  detail.set_value(info.SerializeAsString());
  return {StatusCode::FAILED_PRECONDITION, "some ids failed", details.SerializeAsString()};
}

}  // namespace

Status PubsubModel::publish(const proto::PublishRequest& request, proto::PublishResponse& response) {
  if (!topics.contains(request.topic())) return failed(StatusCode::NOT_FOUND, "no topic");
  if (request.messages_size() < 1 || request.messages_size() > kPublishMessagesMax ||
      request.ByteSizeLong() > kPublishBytesMax)
    return failed(StatusCode::INVALID_ARGUMENT, "1 to 1000 messages, 10 MB");
  for (const proto::PubsubMessage& message : request.messages()) {
    if (message.data().empty() && message.attributes().empty())
      return failed(StatusCode::INVALID_ARGUMENT, "an empty message");
    if (message.ordering_key() != request.messages(0).ordering_key())
      return failed(StatusCode::INVALID_ARGUMENT, "two ordering keys");
  }
  for (const proto::PubsubMessage& message : request.messages()) {
    proto::PubsubMessage kept = message;
    kept.set_message_id(std::to_string(++next_id_));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    kept.mutable_publish_time()->set_seconds(std::chrono::duration_cast<std::chrono::seconds>(now).count());
    response.add_message_ids(kept.message_id());
    for (auto& [name, subscription] : subscriptions) {
      if (subscription.facts.topic() == request.topic()) subscription.ready.push_back({kept, 0});
    }
  }
  counts.published += request.messages_size();
  counts.largest_publish = std::max<std::int64_t>(counts.largest_publish, request.messages_size());
  return Status::OK;
}

Status PubsubModel::acknowledge(const proto::AcknowledgeRequest& request) {
  Subscription& subscription = subscriptions[request.subscription()];
  std::map<std::string, std::string> reasons;
  counts.largest_ack = std::max<std::int64_t>(counts.largest_ack, request.ack_ids_size());
  const bool exactly_once = subscription.facts.enable_exactly_once_delivery();
  for (const std::string& id : request.ack_ids()) {
    if (exactly_once && faults.transient_acks > 0) {
      --faults.transient_acks;
      reasons[id] = "TRANSIENT_FAILURE_SERVICE_UNAVAILABLE";
      continue;
    }
    const auto out = subscription.out.find(id);
    if (out == subscription.out.end()) {
      ++counts.stale_acks;
      if (exactly_once) reasons[id] = "PERMANENT_FAILURE_INVALID_ACK_ID";
      continue;
    }
    const std::string message_id = out->second.message.message_id();
    if (subscription.acked.insert(message_id).second) ++counts.acked;
    subscription.out.erase(out);
    --counts.outstanding;
  }
  return reasons.empty() ? Status::OK : by_ids(reasons);
}

Status PubsubModel::modify(const proto::ModifyAckDeadlineRequest& request) {
  Subscription& subscription = subscriptions[request.subscription()];
  std::map<std::string, std::string> reasons;
  for (const std::string& id : request.ack_ids()) {
    const auto out = subscription.out.find(id);
    if (out == subscription.out.end()) {
      if (subscription.facts.enable_exactly_once_delivery()) reasons[id] = "PERMANENT_FAILURE_INVALID_ACK_ID";
      continue;
    }
    const Time ends = std::chrono::steady_clock::now() + seconds(request.ack_deadline_seconds());
    if (ends < out->second.ends) ++counts.handed_back;
    out->second.ends = ends;
  }
  return reasons.empty() ? Status::OK : by_ids(reasons);
}

// Leases that ran out: the message is there again.
void PubsubModel::expire(Subscription& subscription) {
  const Time now = std::chrono::steady_clock::now();
  for (auto out = subscription.out.begin(); out != subscription.out.end();) {
    if (out->second.ends > now) {
      ++out;
      continue;
    }
    ++counts.expired;
    --counts.outstanding;
    if (!subscription.acked.contains(out->second.message.message_id()))
      subscription.ready.push_back({out->second.message, out->second.deliveries});
    out = subscription.out.erase(out);
  }
}

// One response for the stream, as far as its bounds go.
bool PubsubModel::fill(std::uint64_t number, const PullBounds& open, proto::StreamingPullResponse& response) {
  Subscription& subscription = subscriptions[open.subscription];
  expire(subscription);
  std::int64_t mine = 0;
  std::int64_t bytes = 0;
  for (const auto& [id, out] : subscription.out) {
    if (out.stream != number) continue;
    ++mine;
    bytes += static_cast<std::int64_t>(out.message.data().size());
  }
  const auto has_room = [&] {
    if (faults.ignore_flow || mine == 0) return true;
    return (open.messages_max <= 0 || mine < open.messages_max) &&
           (open.bytes_max <= 0 || bytes < open.bytes_max);
  };
  while (!subscription.ready.empty() && response.received_messages_size() < kResponseMessages && has_room()) {
    Queued next = std::move(subscription.ready.front());
    subscription.ready.pop_front();
    if (subscription.acked.contains(next.message.message_id())) continue;
    const std::string ack_id = next.message.message_id() + ":" + std::to_string(++next_ack_);
    proto::ReceivedMessage& received = *response.add_received_messages();
    received.set_ack_id(ack_id);
    *received.mutable_message() = next.message;
    if (subscription.facts.has_dead_letter_policy()) received.set_delivery_attempt(next.deliveries + 1);
    ++mine;
    bytes += static_cast<std::int64_t>(next.message.data().size());
    ++counts.delivered;
    if (faults.twice_every > 0 && counts.delivered % faults.twice_every == 0)
      subscription.ready.push_back({next.message, next.deliveries + 1});
    subscription.out[ack_id] = {std::move(next.message), next.deliveries + 1,
                                std::chrono::steady_clock::now() + seconds(open.lease_seconds), number};
    ++counts.outstanding;
  }
  counts.most_outstanding = std::max(counts.most_outstanding, counts.outstanding);
  auto& properties = *response.mutable_subscription_properties();
  properties.set_exactly_once_delivery_enabled(subscription.facts.enable_exactly_once_delivery());
  return response.received_messages_size() > 0;
}

}  // namespace dripgate::testing
