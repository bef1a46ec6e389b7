#include "app/redis_engine.h"

#include <random>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "app/broker_ports.h"
#include "broker/redis_streams/claim_store.h"
#include "redis/make_client.h"
#include "runtime/redis_options.h"
#include "store/redis/stores.h"

namespace dripgate::app {
namespace {

/// The name of this process among the consumers of a topic and for operators: never one that ran before,
/// whose entries are claimed when their time is over.
std::string instance_name() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  std::random_device entropy;
  return fmt::format("{}-{}-{:08x}", host, ::getpid(), entropy());
}

/// The verb that runs this part of the work.
std::string part_of(drip::Roles roles) {
  if (roles == drip::Roles{}) return "up";
  if (roles.intake) return "worker";
  if (roles.dispatch) return "dispatch";
  return roles.consume ? "consume" : "serve";
}

}  // namespace

RedisEngine::~RedisEngine() {
  lines_.end();
}

Result<void> RedisEngine::open() {
  const config::ConfigPtr config = context_.snapshot.get();
  const auto& store = std::get<config::RedisStore>(config->store);
  auto client = redis::make_client(context_.loop.io(), runtime::redis_options(store));
  if (!client) return std::unexpected(client.error());
  client_ = std::move(*client);
  instance_ = instance_name();
  const auto partitions = static_cast<std::size_t>(store.partitions);
  bookings_ =
      store::make_redis_booking_store(*client_, {.key_prefix = store.key_prefix, .partitions = partitions});
  broker_ = std::make_unique<broker::redis_streams::Broker>(
      *client_, static_cast<Executor&>(context_.loop),
      broker::redis_streams::Options{
          .prefix = store.key_prefix, .partitions = partitions, .consumer = instance_});
  auto gcp = GcpPorts::open(context_, instance_);
  if (!gcp) return std::unexpected(std::move(gcp.error()));
  gcp_ = std::move(*gcp);
  config_topic_ = std::make_unique<ConfigTopic>(*client_, context_.loop, store.key_prefix, instance_,
                                                [&context = context_](std::int64_t number) {
                                                  if (context.reload_asked) context.reload_asked(number);
                                                });
  watch_ = std::make_unique<RedisWatch>(*client_,
                                        config->streams.empty() ? RedisHolds::counters : RedisHolds::events,
                                        context_.loop, context_.clock, context_.health, context_.log);
  return listen(store);
}

Result<void> RedisEngine::listen(const config::RedisStore& store) {
  auto subscriber =
      redis::subscribe(context_.loop.io(), runtime::redis_options(store), {config_topic_->channel()},
                       {.on_message = [this](std::string_view, std::string_view) { config_topic_->look(); },
                        .on_listening =
                            [this] {
                              topic_refused_ = false;
                              context_.health.warn("config topic", {});
                              config_topic_->listening();
                            },
                        .on_refused = [this](const Error& error) { topic_refused(error); }});
  if (!subscriber) return std::unexpected(std::move(subscriber.error()));
  subscriber_ = std::move(*subscriber);
  return {};
}

void RedisEngine::topic_refused(const Error& error) {
  if (std::exchange(topic_refused_, true)) return;
  context_.log.warn("messages of the config topic are refused", {{"detail", error.detail}});
  context_.health.warn("config topic",
                       {"messages of the config topic are refused, a reload by message takes up to " +
                        std::to_string(kConfigPollEvery / 1s) + " s: " + error.detail});
}

void RedisEngine::report_config(const server::ConfigState& config) {
  config_topic_->report({.instance = instance_, .part = part_of(context_.roles), .config = config});
}

void RedisEngine::shutdown(Duration wait, Task done) {
  Engine::shutdown(wait, [this, done = std::move(done)]() mutable { config_topic_->leave(std::move(done)); });
}

void RedisEngine::start() {
  watch_->start();
  config_topic_->start();
  start_lines([this](const config::StreamSettings& settings) { return ports_of(settings); });
}

std::unique_ptr<broker::Claims> RedisEngine::claims_of(const config::StreamSettings& settings) {
  if (!settings.cloud_tasks) return nullptr;
  // Without a claimCheck too: another process, or the config before this one, may have put claims there.
  const config::ClaimCheck check = settings.cloud_tasks->claim_check.value_or(config::ClaimCheck{});
  return broker_->claims(settings.stream->id,
                         {.claim_bytes_max = check.event_bytes_max, .bytes_max = check.bytes_max});
}

LinePorts RedisEngine::ports_of(const config::StreamSettings& settings) {
  const core::Stream& stream = *settings.stream;
  LinePorts ports = settings.pubsub ? gcp_->ports_of(settings, broker_->timer(stream.id),
                                                     broker_->dead_letters(stream.dead_letter_topic))
                                    : broker_ports(*broker_, settings, context_.clock);
  if (context_.timer) {
    if (auto elsewhere = context_.timer(settings, claims_of(settings))) ports.timer = std::move(elsewhere);
  }
  if (ports.sink == nullptr) ports.sink = context_.http_sink(settings.stream->id);
  return ports;
}

}  // namespace dripgate::app
