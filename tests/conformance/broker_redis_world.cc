#include "broker_redis_world.h"

#include <utility>

#include <gtest/gtest.h>

#include "broker/redis_streams/stream_timer.h"

namespace dripgate::testing {
namespace {

struct Shared {
  SteeredClock clock;
  RedisServer server{{.clock = &clock}};
};

Shared& shared() {
  static Shared shared;
  return shared;
}

}  // namespace

RedisWorld::RedisWorld(broker::redis_streams::Options options) : options_(std::move(options)) {
  options_.consumer = "first";
  shared().clock.set(clock.now());
  EXPECT_EQ(server().ask({"FLUSHALL"}), "OK");
  open();
}

void RedisWorld::open() {
  client_ = std::make_unique<SimRedisClient>(server().port(), executor,
                                             [this] { shared().clock.set(clock.now()); });
  broker_ = std::make_unique<broker::redis_streams::Broker>(*client_, executor, options_);
}

const RedisServer& RedisWorld::server() const {
  return shared().server;
}

std::unique_ptr<broker::redis_streams::Broker> RedisWorld::process(const std::string& consumer) {
  broker::redis_streams::Options options = options_;
  options.consumer = consumer;
  return std::make_unique<broker::redis_streams::Broker>(*client_, executor, options);
}

std::unique_ptr<broker::Publisher> RedisWorld::publisher(const std::string& topic) {
  return broker_->publisher(topic);
}
std::unique_ptr<broker::EventSource> RedisWorld::source(const std::string& topic) {
  return broker_->source(topic);
}
std::unique_ptr<broker::Timer> RedisWorld::timer(const std::string& stream) {
  return broker_->timer(stream);
}
std::unique_ptr<broker::DeadLetters> RedisWorld::dead_letters(const std::string& topic) {
  return broker_->dead_letters(topic);
}

void RedisWorld::restart() {
  executor.clear();
  broker_.reset();
  open();
  run_for(broker::redis_streams::kFiringLease);
}

void RedisWorld::run_for(Duration span) {
  bool over = false;
  executor.post_after(span, [&] { over = true; });
  while (!over) executor.run_one();
  executor.run_ready();
}

}  // namespace dripgate::testing
