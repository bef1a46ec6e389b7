// HTTP/1.1 by hand, both ends: a client that sees exactly what a gateway sends, and a small app behind it
// that remembers what reached it. No library between a test and the bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dripgate::integration {

using Lines = std::vector<std::string>;  // header lines, "Name: value"

struct Message {
  std::string start;  // request line or status line
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  /// Of a response; 0: there was none.
  [[nodiscard]] int status() const;
  /// Of every line of that name, joined by ", "; "(none)".
  [[nodiscard]] std::string header(const std::string& name) const;
};

struct Ask {
  std::string method = "GET";
  std::string path = "/";
  Lines headers{};
  std::string body{};
};

/// One request on a connection of its own to a port of 127.0.0.1.
[[nodiscard]] Message ask(std::uint16_t port, const Ask& ask);
[[nodiscard]] bool accepts_connections(std::uint16_t port);

/// Answers 200 "the app", 403 to /forbidden, 500 to /broken; everything may be cached, by its own word.
class SmallApp {
 public:
  SmallApp();
  ~SmallApp();
  SmallApp(const SmallApp&) = delete;
  SmallApp& operator=(const SmallApp&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Requests that reached it so far.
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] Message last() const;
  /// Nobody listens any more.
  void stop();

 private:
  void serve();

  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Message> seen_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace dripgate::integration
