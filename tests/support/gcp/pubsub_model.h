// PubsubModel: what PubsubFake keeps: topics, subscriptions, deliveries and their leases, and what a test
// asked to go wrong. Calls are made under one lock.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <string>

#include <grpcpp/support/status.h>

#include "google/pubsub/v1/pubsub.pb.h"
#include "support/gcp/pubsub_fake.h"

namespace dripgate::testing {

namespace proto = google::pubsub::v1;

/// What a stream asked for.
struct PullBounds {
  std::string subscription;
  int lease_seconds = 10;
  std::int64_t messages_max = 0;  // 0: none
  std::int64_t bytes_max = 0;
};

class PubsubModel {
 public:
  explicit PubsubModel(int scale) : scale_(scale) {}

  grpc::Status publish(const proto::PublishRequest& request, proto::PublishResponse& response);
  grpc::Status acknowledge(const proto::AcknowledgeRequest& request);
  grpc::Status modify(const proto::ModifyAckDeadlineRequest& request);
  /// One response for a stream, as far as its bounds go. False: there is nothing to deliver.
  bool fill(std::uint64_t stream, const PullBounds& open, proto::StreamingPullResponse& response);

  PubsubFaults faults;
  PubsubCounts counts;
  std::set<std::string> topics;

  struct Delivered {
    proto::PubsubMessage message;
    int deliveries = 0;
    std::chrono::steady_clock::time_point ends;
    std::uint64_t stream = 0;
  };
  struct Queued {
    proto::PubsubMessage message;
    int deliveries = 0;
  };
  struct Subscription {
    proto::Subscription facts;
    std::deque<Queued> ready;
    std::map<std::string, Delivered> out;  // by ack id
    std::set<std::string> acked;           // message ids
  };
  std::map<std::string, Subscription> subscriptions;

 private:
  void expire(Subscription& subscription);
  [[nodiscard]] std::chrono::nanoseconds seconds(int count) const {
    return std::chrono::nanoseconds{std::chrono::seconds{count}} / scale_;
  }

  const int scale_;
  std::uint64_t next_id_ = 0;
  std::uint64_t next_ack_ = 0;
};

}  // namespace dripgate::testing
