// Our messages and Google's: conversions of what transport.h carries. Pure.
#pragma once

#include <string>

#include <grpcpp/support/status.h>

#include "broker/pubsub/transport.h"
#include "google/pubsub/v1/pubsub.pb.h"

namespace dripgate::broker::pubsub {

namespace proto = google::pubsub::v1;

void write(const WireMessage& message, proto::PubsubMessage& out);
/// Takes the bytes out of the response.
[[nodiscard]] Pulled read(proto::StreamingPullResponse& response);
[[nodiscard]] SubscriptionFacts read(const proto::Subscription& subscription);

/// With the reasons of single ack ids, where the service gives some.
[[nodiscard]] Failure to_failure(const ::grpc::Status& status);

/// Value of x-goog-request-params: "topic=projects%2Fp%2Ftopics%2Ft".
[[nodiscard]] std::string request_params(std::string_view field, std::string_view name);
inline constexpr const char* kRequestParams = "x-goog-request-params";

}  // namespace dripgate::broker::pubsub
