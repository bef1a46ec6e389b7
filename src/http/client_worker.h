// ClientWorker: one connection of the client's pool: connect, send, read the answer, keep alive. Inside
// src/http only; everything on the loop's thread.
#pragma once

#include <memory>
#include <optional>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "http/client.h"
#include "http/transport.h"

namespace dripgate::http {

/// A call and its one answer.
struct Pending {
  Call call;
  Client::Answered done;

  void finish(Result<Response> result) {
    if (auto answered = std::exchange(done, nullptr)) answered(std::move(result));
  }
};
using PendingPtr = std::shared_ptr<Pending>;

class ClientWorker : public std::enable_shared_from_this<ClientWorker> {
 public:
  ClientWorker(boost::asio::io_context& context, const Url& origin, net::TlsContext tls);

  /// Sends the call and finishes it, whatever happens.
  Awaitable<void> exchange(PendingPtr pending);
  /// The call in hand ends with an error; the connection is closed.
  void abort(Error why);

  /// The pool's: wakes an idle worker.
  boost::asio::steady_timer wake;
  PendingPtr assigned;

 private:
  Awaitable<Result<Response>> attempt(Call& call);
  Awaitable<Result<void>> connect();
  Awaitable<Result<std::vector<boost::asio::ip::tcp::endpoint>>> resolve();
  Awaitable<Result<Response>> read_answer(const Call& call);
  void start_deadline(Duration timeout);
  void disconnect();

  const Url& origin_;
  net::TlsContext tls_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::ip::tcp::socket connecting_;
  boost::asio::steady_timer deadline_;
  std::uint64_t calls_ = 0;  // names the call a deadline belongs to
  std::unique_ptr<Transport> transport_;
  PendingPtr in_hand_;
};

}  // namespace dripgate::http
