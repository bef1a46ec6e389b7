#include "broker/pubsub/broker.h"

#include <utility>

#include "broker/pubsub/context.h"
#include "broker/pubsub/subscription_source.h"
#include "broker/pubsub/topic_publisher.h"

namespace dripgate::broker::pubsub {

std::string topic_name(const std::string& project, const std::string& topic) {
  return "projects/" + project + "/topics/" + topic;
}

std::string subscription_name(const std::string& project, const std::string& subscription) {
  return "projects/" + project + "/subscriptions/" + subscription;
}

Broker::Broker(std::unique_ptr<Transport> transport, Executor& executor, Clock& clock, Options options)
    : options_(std::move(options)),
      context_(std::make_shared<Context>(Context{.transport = std::move(transport),
                                                 .executor = executor,
                                                 .clock = clock,
                                                 .handling_deadline = options_.handling_deadline,
                                                 .trouble = options_.trouble,
                                                 .well = options_.well})) {}

Broker::~Broker() = default;

std::unique_ptr<Publisher> Broker::publisher(const std::string& topic) {
  return std::make_unique<TopicPublisher>(context_, topic_name(options_.project, topic));
}

std::unique_ptr<EventSource> Broker::source(const std::string& subscription, int streams) {
  return std::make_unique<SubscriptionSource>(
      context_, SourceOptions{.subscription = subscription_name(options_.project, subscription),
                              .streams = streams,
                              .client_id = options_.instance + "-" + subscription});
}

}  // namespace dripgate::broker::pubsub
