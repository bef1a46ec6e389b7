// Stream: the bytes of one connection, plain or TLS behind one face. For the Asio files of this room only.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "net/tls.h"

namespace dripgate::redis {

using boost::system::error_code;
template <class T>
using Awaitable = boost::asio::awaitable<T>;

struct ReadOutcome {
  error_code error;
  std::size_t bytes = 0;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  virtual ~Stream() = default;
  virtual boost::asio::ip::tcp::socket& socket() = 0;
  virtual Awaitable<error_code> handshake() = 0;
  virtual Awaitable<ReadOutcome> read_some(boost::asio::mutable_buffer into) = 0;
  /// Writes all of `outgoing`, which must not change until `done` has run; one write at a time.
  virtual void write(std::move_only_function<void(error_code)> done) = 0;
  /// Pending operations end with an error. Idempotent.
  void close();

  std::string outgoing;
};
using StreamPtr = std::shared_ptr<Stream>;

/// `tls`: null for plain. With TLS the handshake fails unless the certificate names `host`.
[[nodiscard]] StreamPtr make_stream(boost::asio::io_context& context, const net::TlsContext& tls,
                                    const std::string& host);

}  // namespace dripgate::redis
