// What the adapters ask of Pub/Sub, without a word of gRPC: calls and streams that answer on the executor,
// and what is asked once at start. Implemented in grpc/; tests have their own.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "broker/message.h"
#include "broker/pubsub/failure.h"

namespace dripgate::broker::pubsub {

struct WireMessage {
  std::string data;
  Attributes attributes;  // UTF-8, as Pub/Sub bounds them (message_codec.h)
  std::string ordering_key;
  std::string id;      // given by Pub/Sub; not sent
  WallTime published;  // given by Pub/Sub; not sent
};

struct Received {
  std::string ack_id;
  WireMessage message;
  int delivery_attempt = 0;  // 0: the subscription does not count them
};

struct Pulled {
  std::vector<Received> messages;
  std::optional<bool> exactly_once;  // of the subscription, where this response says it
};

/// One open StreamingPull. Ends with its object: nothing is called after that.
class PullStream {
 public:
  virtual ~PullStream() = default;
  /// Asks for one more response; none may be on its way.
  virtual void read() = 0;
  /// Says that this side is there, and the lease of what comes from here on.
  virtual void ping(int ack_deadline_seconds) = 0;
};

struct PullOptions {
  std::string subscription;  // "projects/P/subscriptions/S"
  std::string client_id;     // the same when a stream is opened again
  int ack_deadline_seconds = 0;
  std::int64_t max_outstanding_messages = 0;
  std::int64_t max_outstanding_bytes = 0;
};

struct PullHandler {
  std::function<void(Pulled)> pulled;
  std::function<void(Failure)> ended;  // once; no read answers any more
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Answers the ids, in order. The messages are read before this returns.
  virtual void publish(const std::string& topic, std::span<const WireMessage> messages, Duration deadline,
                       Answered<std::vector<std::string>> done) = 0;
  virtual void acknowledge(const std::string& subscription, std::span<const std::string> ack_ids,
                           Duration deadline, Answered<void> done) = 0;
  /// `seconds` 0 to 600 from now.
  virtual void modify_ack_deadline(const std::string& subscription, std::span<const std::string> ack_ids,
                                   int seconds, Duration deadline, Answered<void> done) = 0;
  [[nodiscard]] virtual std::unique_ptr<PullStream> pull(const PullOptions& options, PullHandler handler) = 0;
};

struct SubscriptionFacts {
  std::string topic;  // "projects/P/topics/T"
  int ack_deadline_seconds = 0;
  bool ordering = false;
  bool push = false;
  bool detached = false;
  std::string dead_letter_topic{};  // empty: no policy
  int max_delivery_attempts = 0;
};

/// Asked at start and blocking, at most `kAdminCallDeadline` a call. Any thread but the executor's.
class Admin {
 public:
  virtual ~Admin() = default;
  virtual Answer<void> find_topic(const std::string& topic) = 0;
  virtual Answer<void> create_topic(const std::string& topic) = 0;
  virtual Answer<SubscriptionFacts> find_subscription(const std::string& subscription) = 0;
  /// On facts.topic with facts.ack_deadline_seconds.
  virtual Answer<void> create_subscription(const std::string& subscription,
                                           const SubscriptionFacts& facts) = 0;
};
inline constexpr Duration kAdminCallDeadline = std::chrono::seconds{10};

}  // namespace dripgate::broker::pubsub
