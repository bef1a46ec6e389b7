#include "app/gcp_ports.h"

#include <algorithm>
#include <utility>

#include "broker/pubsub/connect.h"
#include "broker/pubsub/dead_letter_topic.h"
#include "broker/pubsub/start_checks.h"
#include "broker/topic_sink.h"

namespace dripgate::app {
namespace {

namespace pubsub = broker::pubsub;

/// Ingest over HTTP has no topic to publish to: the stream names a subscription.
class NoIngest final : public broker::Publisher {
 public:
  explicit NoIngest(std::string sentence) : sentence_(std::move(sentence)) {}
  void publish(broker::Message, Done<void> done) override {
    done(fail(ErrorCode::invalid_argument, sentence_));
  }

 private:
  std::string sentence_;
};

/// What this process uses of a stream's places, by its part of the work.
pubsub::StreamPlaces places_of(const config::StreamSettings& settings, const std::string& project,
                               drip::Roles roles) {
  const core::Stream& stream = *settings.stream;
  pubsub::StreamPlaces places{.stream = stream.id,
                              .source = {},
                              .overflow_topic = {},
                              .overflow_subscription = {},
                              .dead_letter_topic = pubsub::topic_name(project, stream.dead_letter_topic),
                              .deliver_topic = {}};
  if (roles.intake) places.source = pubsub::subscription_name(project, settings.source_topic);
  if (roles.dispatch || roles.consume)
    places.overflow_topic = pubsub::topic_name(project, stream.overflow_topic);
  if (roles.consume) {
    places.overflow_subscription = pubsub::subscription_name(project, settings.pubsub->overflow_subscription);
  }
  const auto* topic = std::get_if<config::TopicDelivery>(&settings.deliver);
  if (topic != nullptr && (roles.intake || roles.consume))
    places.deliver_topic = pubsub::topic_name(project, topic->topic);
  return places;
}

}  // namespace

Result<std::unique_ptr<GcpPorts>> GcpPorts::open(const EngineContext& context, const std::string& instance) {
  const config::ConfigPtr config = context.snapshot.get();
  std::vector<pubsub::StreamPlaces> places;
  for (const config::StreamSettings& settings : config->streams) {
    if (settings.pubsub) places.push_back(places_of(settings, config->gcp->project, context.roles));
  }
  if (places.empty()) return std::unique_ptr<GcpPorts>();
  const config::GcpEndpoint& at = config->gcp->pubsub;
  if (at.plaintext) context.log.info("Pub/Sub without TLS and credentials", {{"at", at.target}});
  auto connection = pubsub::connect({.target = at.target, .plaintext = at.plaintext}, context.environment,
                                    static_cast<Executor&>(context.loop));
  if (!connection) return std::unexpected(std::move(connection.error()));
  auto advice = pubsub::check_places(*connection->admin, places, context.create);
  if (!advice) return std::unexpected(std::move(advice.error()));
  for (const std::string& sentence : *advice) context.log.warn("Pub/Sub", {{"detail", sentence}});
  pubsub::Options options{
      .project = config->gcp->project,
      .instance = instance,
      .trouble =
          [&log = context.log, &health = context.health](const std::string& subscription,
                                                         const Error& error) {
            log.error("no events arrive", {{"subscription", subscription}, {"detail", error.detail}});
            health.raise("events of " + subscription, error.detail);
          },
      .well =
          [&log = context.log, &health = context.health](const std::string& subscription) {
            log.info("events arrive again", {{"subscription", subscription}});
            health.clear("events of " + subscription);
          }};
  auto broker =
      std::make_unique<pubsub::Broker>(std::move(connection->transport), static_cast<Executor&>(context.loop),
                                       context.clock, std::move(options));
  return std::unique_ptr<GcpPorts>(new GcpPorts(context.clock, std::move(broker)));
}

LinePorts GcpPorts::ports_of(const config::StreamSettings& settings, std::unique_ptr<broker::Timer> timer,
                             std::unique_ptr<broker::DeadLetters> letters) {
  const core::Stream& stream = *settings.stream;
  const int streams = settings.pubsub->streams;
  LinePorts ports{
      .ingest = std::make_unique<NoIngest>("stream " + stream.id +
                                           " takes its events from Pub/Sub: publish to the topic of "
                                           "subscription " +
                                           settings.source_topic),
      .source = pubsub_->source(settings.source_topic, streams),
      .overflow = pubsub_->publisher(stream.overflow_topic),
      .overflow_source = pubsub_->source(settings.pubsub->overflow_subscription, streams),
      .timer = std::move(timer),
      .dead_letters = std::make_unique<pubsub::DeadLetterTopic>(std::move(letters),
                                                                pubsub_->publisher(stream.dead_letter_topic)),
      .sink = nullptr,
      .own_sink = {}};
  if (const auto* topic = std::get_if<config::TopicDelivery>(&settings.deliver)) {
    ports.own_sink = std::make_unique<broker::TopicSink>(stream.id, clock_, pubsub_->publisher(topic->topic));
    ports.sink = ports.own_sink.get();
  }
  return ports;
}

}  // namespace dripgate::app
