// Subscription: the connection of a Subscriber. For the Asio files of this room only; single-threaded.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "redis/connection.h"
#include "redis/subscriber.h"

namespace dripgate::redis {

class Subscription : public std::enable_shared_from_this<Subscription> {
 public:
  Subscription(net::IoLoop& loop, Locate locate, const ConnectionSetup& setup, std::string channels_wire,
               SubscriberHandlers handlers);

  void start();
  /// No handler runs after it.
  void close();

 private:
  static Awaitable<void> live(std::shared_ptr<Subscription> self);
  Awaitable<bool> dial();
  Awaitable<void> listen();
  bool understood(std::string_view bytes);
  void take(const Reply& reply);
  void refused(std::string_view text);
  void ping_later();

  net::IoLoop& loop_;
  Locate locate_;
  std::string channels_wire_;
  SubscriberHandlers handlers_;
  std::shared_ptr<Dialer> dialer_;
  ReconnectDelay delay_;
  StreamPtr stream_;
  ReplyReader reader_;
  std::array<char, 4096> read_buffer_;
  boost::asio::steady_timer retry_timer_;
  boost::asio::steady_timer ping_timer_;
  bool heard_ = false;  // since the last PING
  bool listening_ = false;
  bool refused_ = false;  // by the last connection
  std::string node_;
  bool closed_ = false;
};

}  // namespace dripgate::redis
