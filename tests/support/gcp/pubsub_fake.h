// PubsubFake: Pub/Sub as a gRPC server of the test's own process, on 127.0.0.1. It keeps what the real one is
// documented to keep (leases, flow control, exactly-once, bounds of requests) and does wrong what a test asks
// for. Ack ids change with every delivery. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dripgate::testing {

enum class CallFate { serve, refuse, lose_reply };

struct PubsubFaults {
  int refuse = 0;                    // a gRPC code for calls that match; nothing is done
  int refuse_calls = 0;              // so many of them
  int lose_replies = 0;              // so many calls that match are done and answered UNAVAILABLE
  std::string method{};              // "Publish", "Acknowledge", "ModifyAckDeadline"; empty: all three
  int transient_acks = 0;            // exactly-once: so many ids of acks fail with TRANSIENT_...
  std::int64_t twice_every = 0;      // every so many deliveries come twice
  std::int64_t stream_messages = 0;  // a stream ends (UNAVAILABLE) after so many messages; 0: it does not
  bool ignore_flow = false;          // as Google's emulator does
  /// Asked about each Publish (place: the topic), Acknowledge, ModifyAckDeadline (the subscription), and told
  /// "StreamingPull" when messages are handed out. Under the fake's lock: it must not call the fake.
  std::function<CallFate(const std::string& method, const std::string& place)> call{};
};

struct PubsubCounts {
  std::int64_t published = 0;
  std::int64_t delivered = 0;
  std::int64_t acked = 0;        // messages, each once
  std::int64_t expired = 0;      // leases that ran out
  std::int64_t handed_back = 0;  // leases that were cut short
  std::int64_t streams = 0;      // opened
  std::int64_t pings = 0;
  std::int64_t stale_acks = 0;  // of a delivery that was over
  std::int64_t outstanding = 0;
  std::int64_t most_outstanding = 0;
  std::int64_t largest_publish = 0;  // messages
  std::int64_t largest_ack = 0;      // ids
};

class PubsubFake {
 public:
  /// Leases run `scale` times as fast as real time.
  explicit PubsubFake(int scale = 1);
  ~PubsubFake();

  [[nodiscard]] std::string endpoint() const;  // "127.0.0.1:port", without TLS
  void set(PubsubFaults faults);
  /// As one call that publishes these; what is waited for goes out at once, not with the next look.
  void publish(const std::string& topic, const std::vector<std::string>& bodies);
  /// Hears of every message that a call has published, under the fake's lock: it must not ask the fake.
  void listen(std::function<void(const std::string& topic, const std::string& body)> heard);
  [[nodiscard]] PubsubCounts counts() const;
  /// GOAWAY on every connection, then it is gone for a moment; what it holds stays. Streams end meanwhile.
  void restart();
  /// Every stream ends with this gRPC code.
  void end_streams(int code);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dripgate::testing
