// One worker process of a drip that lives in Redis, on a loop that the test drives: the product's Pipeline on
// the Redis booking store and the broker on Redis Streams, over the real client. For tests and bench/.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "broker/redis_streams/broker.h"
#include "drip/pipeline.h"
#include "net/io_loop.h"
#include "redis/make_client.h"
#include "store/redis/stores.h"
#include "support/steady_clock.h"

namespace dripgate::testing {

using SinkAnswers = std::function<broker::SinkAnswer(const broker::Outgoing&)>;

/// Tells, and confirms everything, or what `answers` says.
class TellingSink final : public broker::Sink {
 public:
  TellingSink(std::function<void(const broker::Outgoing&)> told, SinkAnswers answers)
      : told_(std::move(told)), answers_(std::move(answers)) {}
  void deliver(broker::Outgoing outgoing, std::move_only_function<void(broker::SinkAnswer)> done) override {
    told_(outgoing);
    done(answers_ ? answers_(outgoing) : broker::SinkAnswer{});
  }

 private:
  std::function<void(const broker::Outgoing&)> told_;
  SinkAnswers answers_;
};

/// Of calls: a busy machine is no failure.
inline constexpr Duration kUnhurried = std::chrono::seconds{10};

struct RedisDripOptions {
  redis::Options redis;  // its timeout becomes kUnhurried
  std::string consumer = "worker";
  std::size_t partitions = 1;
  core::StreamPtr stream;
  broker::FlowControl flow{};
  std::function<void(const broker::Outgoing&)> on_delivery;
  SinkAnswers answers{};
};

class RedisDrip {
 public:
  /// Starts at once. The loop outlives it.
  RedisDrip(net::IoLoop& loop, const RedisDripOptions& options, drip::Observer& observer)
      : stream_(options.stream),
        client_(make(loop, options.redis)),
        bookings_(store::make_redis_booking_store(*client_, {.partitions = options.partitions})),
        broker_(*client_, loop,
                {.partitions = options.partitions, .consumer = options.consumer, .call_timeout = kUnhurried}),
        ingest_(broker_.publisher("in")),
        source_(broker_.source("in")),
        overflow_(broker_.publisher(stream_->overflow_topic)),
        overflow_source_(broker_.source(stream_->overflow_topic)),
        timer_(broker_.timer(stream_->id)),
        letters_(broker_.dead_letters(stream_->dead_letter_topic)),
        sink_(options.on_delivery, options.answers),
        pipeline_([this] { return stream_; },
                  drip::Ports{.executor = loop,
                              .clock = clock_,
                              .store = *bookings_,
                              .source = *source_,
                              .overflow = *overflow_,
                              .overflow_source = *overflow_source_,
                              .timer = *timer_,
                              .dead_letters = *letters_,
                              .sink = sink_,
                              .flow = options.flow},
                  observer) {
    pipeline_.start();
  }

  [[nodiscard]] broker::Publisher& ingest() { return *ingest_; }
  [[nodiscard]] broker::Timer& timer() { return *timer_; }
  [[nodiscard]] broker::DeadLetters& dead_letters() { return *letters_; }
  [[nodiscard]] redis::Client& client() { return *client_; }
  [[nodiscard]] drip::Pipeline& pipeline() { return pipeline_; }

 private:
  static std::unique_ptr<redis::Client> make(net::IoLoop& loop, redis::Options options) {
    options.timeout = kUnhurried;
    auto made = redis::make_client(loop, std::move(options));
    if (!made) throw std::runtime_error(made.error().detail);
    return std::move(*made);
  }

  SteadyClock clock_;
  core::StreamPtr stream_;
  std::unique_ptr<redis::Client> client_;
  std::unique_ptr<store::BookingStore> bookings_;
  broker::redis_streams::Broker broker_;
  std::unique_ptr<broker::Publisher> ingest_;
  std::unique_ptr<broker::EventSource> source_;
  std::unique_ptr<broker::Publisher> overflow_;
  std::unique_ptr<broker::EventSource> overflow_source_;
  std::unique_ptr<broker::Timer> timer_;
  std::unique_ptr<broker::DeadLetters> letters_;
  TellingSink sink_;
  drip::Pipeline pipeline_;  // last: ends before its ports
};

/// The one server on this port.
[[nodiscard]] inline redis::Options redis_at(std::uint16_t port) {
  return {.nodes = {{.host = "127.0.0.1", .port = port}}};
}

/// A stream "s" whose events are {"id":..., "key":...}.
[[nodiscard]] inline core::StreamPtr redis_drip_stream(core::Units limit, Duration window) {
  auto policy = std::make_shared<core::BookingPolicy>();
  policy->limits = {{.algorithm = core::Algorithm::fixed_window,
                     .limit = limit,
                     .window = window,
                     .capacity = limit,
                     .zone = {}}};
  policy->spread = core::Spread::start;
  return std::make_shared<core::Stream>(core::Stream{.id = "s",
                                                     .key = core::KeyTemplate::parse("{key}").value(),
                                                     .event_id = core::KeyTemplate::parse("{id}").value(),
                                                     .cost = {},
                                                     .booking = std::move(policy),
                                                     .overflow_topic = "over",
                                                     .dead_letter_topic = "dead"});
}

}  // namespace dripgate::testing
