// Receiver: a test receiver for deliveries: an HTTP handler that logs each as one line of JSON and can play
// slow, failing and rate-limited. `dripgate sink` and the demo use it. On one IoLoop.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "base/time.h"
#include "http/message.h"
#include "net/io_loop.h"

namespace dripgate::cli {

/// What one delivery looked like.
struct Received {
  WallTime time;
  std::string id;
  std::string stream;
  std::string key;
  std::string attempt;
  std::string slot;
  std::string released;
  int status = 200;  // what it was answered
  std::size_t bytes = 0;
};
[[nodiscard]] std::string to_json_line(const Received& received);

struct ReceiverPlay {
  Duration slow{};  // before every answer
  double fail_rate = 0;
  int fail_status = 503;
  std::int64_t limit = 0;  // deliveries per window of the clock, then 429; 0: none
  Duration window{};
};

class Receiver {
 public:
  using Taker = std::function<void(const Received&)>;

  Receiver(ReceiverPlay play, const Clock& clock, net::IoLoop& loop, Taker taker);
  void handle(http::Request request, http::Reply reply);

 private:
  [[nodiscard]] http::Response decide(WallTime now);

  ReceiverPlay play_;
  const Clock& clock_;
  net::IoLoop& loop_;
  Taker taker_;
  std::mt19937_64 random_;
  std::int64_t window_ = -1;
  std::int64_t in_window_ = 0;
};

}  // namespace dripgate::cli
