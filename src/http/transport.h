// Transport: the bytes of one connection, plain or TLS behind one face, so that the HTTP above is compiled
// once. For the Asio files of this room only. One loop's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "net/tls.h"

namespace dripgate::http {

using boost::system::error_code;
template <class T>
using Awaitable = boost::asio::awaitable<T>;

struct Moved {
  error_code error;
  std::size_t bytes = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual Awaitable<error_code> handshake() = 0;
  virtual Awaitable<Moved> read_some(boost::asio::mutable_buffer into) = 0;
  /// What goes out without waiting, which may be nothing.
  virtual Moved write_now(boost::asio::const_buffer bytes) = 0;
  /// All of both, in order.
  virtual Awaitable<error_code> write(boost::asio::const_buffer head, boost::asio::const_buffer body) = 0;
  /// No more from us; the peer sees the end of our bytes.
  virtual Awaitable<void> end_writing() = 0;
  /// Pending operations end with an error.
  virtual void close() = 0;
  /// Still open as far as can be seen without waiting: nothing arrived that nobody asked for.
  virtual bool looks_alive() = 0;
  /// The subject of the peer's verified certificate.
  [[nodiscard]] virtual std::optional<std::string> peer_certificate() const { return std::nullopt; }
};

[[nodiscard]] std::unique_ptr<Transport> plain_transport(boost::asio::ip::tcp::socket socket);
[[nodiscard]] std::unique_ptr<Transport> tls_server_transport(boost::asio::ip::tcp::socket socket,
                                                              net::TlsContext context);
/// The handshake fails unless the certificate names `host`.
[[nodiscard]] std::unique_ptr<Transport> tls_client_transport(boost::asio::ip::tcp::socket socket,
                                                              net::TlsContext context,
                                                              const std::string& host);

}  // namespace dripgate::http
