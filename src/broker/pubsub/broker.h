// The broker on Google Cloud Pub/Sub: publishers of topics and sources of subscriptions, for any number of
// processes. A message may be published or delivered twice; it then has the same id (message_codec.h), and
// the records of the store tell. Timers and dead letters are elsewhere. On the executor of the transport.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "broker/event_source.h"
#include "broker/publisher.h"
#include "broker/pubsub/transport.h"

namespace dripgate::broker::pubsub {

struct Context;

struct Options {
  std::string project;
  std::string instance;                // of this process: no two that run at once share it
  Duration handling_deadline = 10min;  // a delivery unsettled for so long goes to somebody else
  /// Something that only an operator can mend, said again while it lasts; may be empty.
  std::function<void(const std::string& subscription, const Error& error)> trouble{};
  /// It is mended: once after trouble; may be empty.
  std::function<void(const std::string& subscription)> well{};
};

[[nodiscard]] std::string topic_name(const std::string& project, const std::string& topic);
[[nodiscard]] std::string subscription_name(const std::string& project, const std::string& subscription);

class Broker {
 public:
  /// The clock outlives the parts.
  Broker(std::unique_ptr<Transport> transport, Executor& executor, Clock& clock, Options options);
  ~Broker();

  [[nodiscard]] std::unique_ptr<Publisher> publisher(const std::string& topic);
  /// `streams` at once, at most kStreamsMax (subscription_source.h).
  [[nodiscard]] std::unique_ptr<EventSource> source(const std::string& subscription, int streams);

 private:
  Options options_;
  std::shared_ptr<Context> context_;  // the parts share it and may outlive this
};

}  // namespace dripgate::broker::pubsub
