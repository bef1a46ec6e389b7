// Pub/Sub as a test plays it by hand: every call is recorded and answered when and how the test says.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "broker/pubsub/context.h"
#include "broker/pubsub/subscription_source.h"
#include "broker/pubsub/topic_publisher.h"
#include "support/virtual_time.h"

namespace dripgate::broker::pubsub {

struct HandStream {
  PullOptions options;
  PullHandler handler;
  int reads = 0;  // asked for and not answered
  std::vector<int> pings{};
  bool open = true;

  void bring(Pulled pulled) {
    --reads;
    handler.pulled(std::move(pulled));
  }
  void end(Status status) { handler.ended({.status = status, .text = "by hand"}); }
};

class HandTransport final : public Transport {
 public:
  struct Publish {
    std::vector<std::string> bodies;
    Answered<std::vector<std::string>> done;
  };
  struct AckCall {
    std::vector<std::string> ids;
    int seconds = -1;  // -1: an ack
    Answered<void> done;
  };

  explicit HandTransport(Executor& executor) : executor_(executor) {}

  void publish(const std::string&, std::span<const WireMessage> messages, Duration,
               Answered<std::vector<std::string>> done) override {
    Publish call{.bodies = {}, .done = std::move(done)};
    for (const WireMessage& message : messages) call.bodies.push_back(message.data);
    publishes.push_back(std::move(call));
  }
  void acknowledge(const std::string&, std::span<const std::string> ids, Duration,
                   Answered<void> done) override {
    take({{ids.begin(), ids.end()}, -1, std::move(done)});
  }
  void modify_ack_deadline(const std::string&, std::span<const std::string> ids, int seconds, Duration,
                           Answered<void> done) override {
    take({{ids.begin(), ids.end()}, seconds, std::move(done)});
  }
  std::unique_ptr<PullStream> pull(const PullOptions& options, PullHandler handler) override {
    streams.push_back(std::make_shared<HandStream>(HandStream{options, std::move(handler)}));
    return std::make_unique<Handle>(streams.back());
  }

  [[nodiscard]] HandStream& stream() { return *streams.back(); }

  std::deque<Publish> publishes;
  std::vector<AckCall> acks;  // all, in order; those that the test answers by hand keep their `done`
  bool answers_acks = true;   // at once, with success
  std::vector<std::shared_ptr<HandStream>> streams;

 private:
  struct Handle final : PullStream {
    explicit Handle(std::shared_ptr<HandStream> of) : stream(std::move(of)) {}
    ~Handle() override { stream->open = false; }
    void read() override { ++stream->reads; }
    void ping(int seconds) override { stream->pings.push_back(seconds); }
    std::shared_ptr<HandStream> stream;
  };

  void take(AckCall call) {
    if (answers_acks) {
      executor_.post([done = std::move(call.done)]() mutable { done({}); });
      call.done = nullptr;
    }
    acks.push_back(std::move(call));
  }

  Executor& executor_;
};

struct PubsubSide : ::testing::Test {
  Received received(const std::string& id, const std::string& ack_id, std::string body = "body") {
    return {.ack_id = ack_id,
            .message = {
                .data = std::move(body), .attributes = {}, .ordering_key = {}, .id = id, .published = {}}};
  }
  Pulled pulled(std::vector<Received> messages, std::optional<bool> exactly_once = {}) {
    return {std::move(messages), exactly_once};
  }
  void start(FlowControl flow = {}) {
    source = std::make_unique<SubscriptionSource>(
        context,
        SourceOptions{.subscription = "projects/p/subscriptions/s", .streams = 1, .client_id = "me"});
    source->start(flow, [this](Delivery delivery) { got.push_back(std::move(delivery)); });
    executor.run_ready();
  }
  std::vector<std::string> calls() const {  // "ack a b", "10 c"
    std::vector<std::string> told;
    for (const auto& call : transport.acks) {
      std::string line = call.seconds < 0 ? "ack" : std::to_string(call.seconds);
      for (const std::string& id : call.ids) line += " " + id;
      told.push_back(line);
    }
    return told;
  }

  testing::VirtualClock clock;
  testing::SimExecutor executor{clock};
  ContextPtr context = std::make_shared<Context>(
      Context{std::make_unique<HandTransport>(executor), executor, clock, 10min,
              [this](const std::string&, const Error& e) { troubles.push_back(e.detail); },
              [this](const std::string&) { troubles.emplace_back("well"); }});
  HandTransport& transport = static_cast<HandTransport&>(*context->transport);
  std::unique_ptr<SubscriptionSource> source;
  std::vector<Delivery> got;
  std::vector<std::string> troubles;
};

}  // namespace dripgate::broker::pubsub
