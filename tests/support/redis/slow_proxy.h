// SlowProxy: a TCP proxy in front of a Redis of a test that holds replies back. Requests pass at once, so
// that the server counts what its client gives up on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <string>
#include <thread>
#include <vector>

namespace dripgate::testing {

class SlowProxy {
 public:
  explicit SlowProxy(std::uint16_t target);
  ~SlowProxy();
  SlowProxy(const SlowProxy&) = delete;
  SlowProxy& operator=(const SlowProxy&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Of replies that arrive from now on.
  void delay(std::chrono::milliseconds by) { delay_ = by.count(); }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Held {
    Time due;
    std::string bytes;
  };
  struct Line {
    int client = -1, server = -1;
    std::list<Held> replies{};
  };

  void run();
  void accept_one();
  bool pass(Line& line, short client_events, short server_events);
  bool release(Line& line);

  std::uint16_t target_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<std::int64_t> delay_{0};  // ms
  std::atomic<bool> stopping_{false};
  std::list<Line> lines_;
  std::thread thread_;
};

}  // namespace dripgate::testing
