// Dialer: a connection that has greeted: name look-up, TCP, TLS and Greeting within a timeout. For the
// Asio files of this room only.
#pragma once

#include <memory>

#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "redis/greeting.h"
#include "redis/reply.h"
#include "redis/stream.h"

namespace dripgate::redis {

class Dialer : public std::enable_shared_from_this<Dialer> {
 public:
  Dialer(boost::asio::io_context& context, Identity identity, net::TlsContext tls,
         Duration timeout = kConnectTimeout);

  /// One at a time. Errors: unavailable (also: not in time); what a server refuses in the greeting.
  Awaitable<Result<StreamPtr>> dial(Endpoint endpoint);
  /// One question on a connection of its own, within the same time. Errors: the same.
  Awaitable<Result<Reply>> ask(Endpoint endpoint, std::string wire);
  /// What is being dialled ends with an error.
  void cancel();

 private:
  Awaitable<Result<void>> open(Endpoint endpoint);
  Awaitable<Result<Reply>> exchange(std::string node, std::string wire);
  Awaitable<Result<void>> reach(const Endpoint& endpoint);
  Awaitable<Result<void>> greet(const std::string& node);
  void start_deadline();
  std::optional<std::unexpected<Error>> end_deadline(const std::string& node);

  boost::asio::io_context& context_;
  Identity identity_;
  net::TlsContext tls_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::steady_timer deadline_;
  const Duration timeout_;
  std::uint64_t dials_ = 0;  // names the dial that a deadline belongs to
  bool late_ = false;
  StreamPtr stream_;
};

}  // namespace dripgate::redis
