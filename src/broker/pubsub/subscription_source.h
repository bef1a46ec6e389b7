// EventSource over a subscription: StreamingPull with flow control on this side (a server may ignore what it
// is asked for), leases kept until the handling deadline, acks through one ordered sender. A stream that ends
// is opened again. What lapses has its lease cut to the delay after which it is to come again. On the
// executor.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/guard.h"
#include "broker/pubsub/ack_sender.h"
#include "broker/pubsub/context.h"
#include "broker/pubsub/holdings.h"
#include "broker/pubsub/lease_keeper.h"

namespace dripgate::broker::pubsub {

/// Leases are looked at so often ...
inline constexpr Duration kLeaseTick = 1s;
/// ... and each stream hears of this side every so many looks.
inline constexpr int kPingTicks = 30;
inline constexpr int kStreamsMax = 16;

struct SourceOptions {
  std::string subscription;  // "projects/P/subscriptions/S"
  int streams = 1;           // at once, at most kStreamsMax
  std::string client_id;     // of this source: no two share it
};

class SubscriptionSource final : public EventSource {
 public:
  SubscriptionSource(ContextPtr context, SourceOptions options);
  ~SubscriptionSource() override;
  SubscriptionSource(const SubscriptionSource&) = delete;
  SubscriptionSource& operator=(const SubscriptionSource&) = delete;

  void start(FlowControl flow, Handler handler) override;
  void ack(std::uint64_t token, Done<void> done) override;
  void lapse(std::uint64_t token) override;
  void pause() override;
  void resume() override;

 private:
  struct Line {
    std::unique_ptr<PullStream> stream;  // null: to be opened
    std::uint64_t number = 0;            // of the stream: what an older one says does not count
    bool reading = false;
    Duration opened{};
    int failures = 0;  // short-lived streams in a row
  };
  struct Waiting {
    std::uint64_t token = 0;
    Message message;
  };

  void open(std::size_t index);
  void reopen_later(std::size_t index, Duration wait);
  void ended(std::size_t index, const Failure& failure);
  void pulled(std::size_t index, Pulled pulled);
  void take(Received received);
  bool came_again(std::uint64_t token, Received& received);
  void receipt(std::uint64_t token, Message message);
  void receipted(std::uint64_t token, const std::string& ack_id, Message message, const Result<void>& result);
  void post_look();
  void look();
  bool hand_out();
  void tick();
  void well();
  void acked(std::uint64_t token, const std::string& ack_id, Result<void> result, Done<void> done);
  void drop(std::uint64_t token);
  [[nodiscard]] Duration now() { return elapsed_.at(context_->clock.now()); }
  [[nodiscard]] bool is_pulling() const { return handler_ != nullptr && !paused_; }

  ContextPtr context_;
  SourceOptions options_;
  FlowControl flow_;
  std::shared_ptr<Handler> handler_;  // shared: it may end this source while it runs
  ElapsedTime elapsed_;
  AckSender sender_;
  LeaseKeeper leases_;
  Holdings holdings_;
  std::deque<Waiting> waiting_;
  std::vector<Line> lines_;
  std::uint64_t streams_opened_ = 0;
  int told_seconds_ = 0;  // of leases, to the streams
  int ticks_ = 0;
  bool exactly_once_ = false;
  bool paused_ = false;
  bool look_posted_ = false;
  bool in_trouble_ = false;  // and said so
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  Guard guard_;
};

}  // namespace dripgate::broker::pubsub
