// Transports over a socket that never blocks.
#include "http/transport.h"

#include <array>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace dripgate::http {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::ip::tcp;

namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

// What the kernel holds for us right now: nothing, bytes, or the end.
enum class Arrived : unsigned char { nothing, bytes, end };
Arrived arrived(tcp::socket& socket) {
  char byte = 0;
  error_code ec;
  const std::size_t n = socket.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, ec);
  if (ec == asio::error::would_block) return Arrived::nothing;
  return ec || n == 0 ? Arrived::end : Arrived::bytes;
}

tcp::socket unblocked(tcp::socket socket) {
  error_code ignored;  // of a socket that is gone: it shows at the next read
  socket.non_blocking(true, ignored);
  return socket;
}

void close_socket(tcp::socket& socket) {
  error_code ignored;
  socket.close(ignored);
}

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(tcp::socket socket) : socket_(unblocked(std::move(socket))) {}

  Awaitable<error_code> handshake() override { co_return error_code{}; }
  Awaitable<Moved> read_some(asio::mutable_buffer into) override {
    const auto [ec, n] = co_await socket_.async_read_some(into, kAsTuple);
    co_return Moved{.error = ec, .bytes = n};
  }
  Moved write_now(asio::const_buffer bytes) override {
    Moved sent;
    sent.bytes = socket_.write_some(bytes, sent.error);
    if (sent.error == asio::error::would_block) sent.error.clear();
    return sent;
  }
  Awaitable<error_code> write(asio::const_buffer head, asio::const_buffer body) override {
    const std::array<asio::const_buffer, 2> both{head, body};
    const auto [ec, n] = co_await asio::async_write(socket_, both, kAsTuple);
    co_return ec;
  }
  Awaitable<void> end_writing() override {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    co_return;
  }
  void close() override { close_socket(socket_); }
  bool looks_alive() override { return arrived(socket_) == Arrived::nothing; }

 private:
  tcp::socket socket_;
};

class TlsTransport final : public Transport {
 public:
  TlsTransport(tcp::socket socket, net::TlsContext context, ssl::stream_base::handshake_type side)
      : context_(std::move(context)), stream_(unblocked(std::move(socket)), *context_), side_(side) {}

  void name_peer(const std::string& host) {
    error_code not_an_address;
    asio::ip::make_address(host, not_an_address);
    // Server name indication is for names only (RFC 6066).
    if (not_an_address) SSL_set_tlsext_host_name(stream_.native_handle(), host.c_str());
    error_code ignored;
    stream_.set_verify_callback(ssl::host_name_verification(host), ignored);
  }

  Awaitable<error_code> handshake() override {
    const auto [ec] = co_await stream_.async_handshake(side_, kAsTuple);
    co_return ec;
  }
  Awaitable<Moved> read_some(asio::mutable_buffer into) override {
    const auto [ec, n] = co_await stream_.async_read_some(into, kAsTuple);
    co_return Moved{.error = ec, .bytes = n};
  }
  Moved write_now(asio::const_buffer) override { return {}; }
  Awaitable<error_code> write(asio::const_buffer head, asio::const_buffer body) override {
    const std::array<asio::const_buffer, 2> both{head, body};
    const auto [ec, n] = co_await asio::async_write(stream_, both, kAsTuple);
    co_return ec;
  }
  Awaitable<void> end_writing() override {
    (void)co_await stream_.async_shutdown(kAsTuple);
    error_code ignored;
    stream_.next_layer().shutdown(tcp::socket::shutdown_send, ignored);
  }
  void close() override { close_socket(stream_.next_layer()); }
  // Bytes may be a session ticket: only the end counts.
  bool looks_alive() override { return arrived(stream_.next_layer()) != Arrived::end; }

  [[nodiscard]] std::optional<std::string> peer_certificate() const override {
    SSL* tls = const_cast<ssl::stream<tcp::socket>&>(stream_).native_handle();
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(tls), &X509_free);
    if (!certificate || SSL_get_verify_result(tls) != X509_V_OK) return std::nullopt;
    std::array<char, 256> subject{};
    X509_NAME_oneline(X509_get_subject_name(certificate.get()), subject.data(), int(subject.size()));
    return std::string(subject.data());
  }

 private:
  net::TlsContext context_;
  ssl::stream<tcp::socket> stream_;
  ssl::stream_base::handshake_type side_;
};

}  // namespace

std::unique_ptr<Transport> plain_transport(tcp::socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

std::unique_ptr<Transport> tls_server_transport(tcp::socket socket, net::TlsContext context) {
  return std::make_unique<TlsTransport>(std::move(socket), std::move(context), ssl::stream_base::server);
}

std::unique_ptr<Transport> tls_client_transport(tcp::socket socket, net::TlsContext context,
                                                const std::string& host) {
  auto transport =
      std::make_unique<TlsTransport>(std::move(socket), std::move(context), ssl::stream_base::client);
  transport->name_peer(host);
  return transport;
}

}  // namespace dripgate::http
