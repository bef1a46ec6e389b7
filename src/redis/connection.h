// Connection: one node, one TCP connection that comes back by itself, many calls in flight. For the Asio
// files of this room only; single-threaded.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "net/io_loop.h"
#include "redis/dialer.h"
#include "redis/multiplexer.h"
#include "redis/reconnect_delay.h"

namespace dripgate::redis {

/// Where the node is now: asked before every connect.
using Locate = std::function<Awaitable<Result<Endpoint>>()>;
[[nodiscard]] Locate always_at(Endpoint endpoint);

struct ConnectionSetup {
  Identity identity{};
  net::TlsContext tls{};
  Duration timeout{};  // after which a write in flight no longer holds up when_writable
  Multiplexer::Bounds bounds{};
  std::uint64_t seed = 0;  // of the jitter
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(net::IoLoop& loop, std::string node, Locate locate, ConnectionSetup setup);

  /// Begins to connect, and stays at it until close().
  void start();
  /// `done` runs on the loop, never inside of this call.
  void send(std::string_view wire, MonoTime deadline, Answered done);
  void when_writable(Task task);
  /// Gives the connection up for a new one.
  void reconnect(std::string why);
  void close();
  /// Nobody waits for anything here.
  [[nodiscard]] bool idle() const { return calls_.idle() && tasks_.empty(); }
  /// "host:port" of the last place.
  [[nodiscard]] const std::string& node() const { return node_; }

 private:
  enum class State : std::uint8_t { dialing, ready, waiting, closed };
  static constexpr std::size_t kReadBytes = 64u << 10;

  static Awaitable<void> live(std::shared_ptr<Connection> self);
  Awaitable<Result<StreamPtr>> dial();
  Awaitable<void> serve(StreamPtr stream);
  Awaitable<std::string> read_all(StreamPtr stream);
  Awaitable<void> wait();
  void fail_later(Answered done, Failure why);
  void schedule_flush();
  void flush();
  void run_tasks();
  void arm(MonoTime when);
  void on_deadline();
  void watch_silence(MonoTime now);

  net::IoLoop& loop_;
  boost::asio::io_context& context_;
  std::string node_;
  Locate locate_;
  const Duration timeout_;
  std::shared_ptr<Dialer> dialer_;
  Multiplexer calls_;
  ReconnectDelay delay_;
  State state_ = State::dialing;
  Failure last_failure_;
  bool retry_at_once_ = false;
  boost::asio::steady_timer retry_timer_;

  StreamPtr stream_;  // while ready
  std::string reconnect_why_;
  MonoTime silent_since_{};  // while replies are owed
  std::array<char, kReadBytes> read_buffer_;

  bool flush_scheduled_ = false;
  bool writing_ = false;
  MonoTime write_started_{};
  std::vector<Task> tasks_;

  boost::asio::steady_timer deadline_timer_;
  bool armed_ = false;
  MonoTime armed_for_{};
};
using ConnectionPtr = std::shared_ptr<Connection>;

}  // namespace dripgate::redis
