#include "app/redis_engine.h"

#include <random>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "app/broker_ports.h"
#include "broker/redis_streams/durability_check.h"
#include "redis/make_client.h"
#include "store/redis/stores.h"

namespace dripgate::app {
namespace {

redis::Options client_options(const config::RedisStore& store) {
  redis::Options options;
  switch (store.layout) {
    case config::RedisStore::Layout::single:
      options.layout = redis::Options::Layout::single;
      break;
    case config::RedisStore::Layout::cluster:
      options.layout = redis::Options::Layout::cluster;
      break;
    case config::RedisStore::Layout::sentinel:
      options.layout = redis::Options::Layout::sentinel;
      break;
  }
  for (const config::Address& at : store.nodes) options.nodes.push_back({.host = at.host, .port = at.port});
  options.sentinel_master = store.sentinel_master;
  options.user = store.user;
  options.password = store.password;
  options.database = store.database;
  if (store.tls) {
    options.tls = net::ClientTls{
        .ca_file = store.tls->ca_file, .cert_file = store.tls->cert_file, .key_file = store.tls->key_file};
  }
  options.timeout = kStreamCallTimeout;
  return options;
}

/// The name of this process among the consumers of a topic: never one that ran before, whose entries are
/// claimed when their time is over.
std::string consumer_name() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  std::random_device entropy;
  return fmt::format("{}-{}-{:08x}", host, ::getpid(), entropy());
}

}  // namespace

RedisEngine::~RedisEngine() {
  lines_.end();
}

Result<void> RedisEngine::open() {
  const config::ConfigPtr config = context_.snapshot.get();
  const auto& store = std::get<config::RedisStore>(config->store);
  auto client = redis::make_client(context_.loop.io(), client_options(store));
  if (!client) return std::unexpected(client.error());
  client_ = std::move(*client);
  const auto partitions = static_cast<std::size_t>(store.partitions);
  bookings_ =
      store::make_redis_booking_store(*client_, {.key_prefix = store.key_prefix, .partitions = partitions});
  broker_ = std::make_unique<broker::redis_streams::Broker>(
      *client_, static_cast<Executor&>(context_.loop),
      broker::redis_streams::Options{
          .prefix = store.key_prefix, .partitions = partitions, .consumer = consumer_name()});
  return {};
}

void RedisEngine::start() {
  const auto warn = [&health = context_.health, &log = context_.log](const std::string& sentence) {
    log.warn("redis", {{"warning", sentence}});
    health.warn("redis " + sentence);
  };
  broker::redis_streams::check_durability(*client_, guard_.wrap([warn](const std::vector<std::string>& said) {
    for (const std::string& sentence : said) warn(sentence);
  }));
  start_lines([this](const config::StreamSettings& settings) { return ports_of(settings); });
}

LinePorts RedisEngine::ports_of(const config::StreamSettings& settings) {
  LinePorts ports = broker_ports(*broker_, settings, context_.clock);
  if (ports.sink == nullptr) ports.sink = context_.http_sink(settings.stream->id);
  return ports;
}

}  // namespace dripgate::app
