#include "redis/stream.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace dripgate::redis {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::ip::tcp;

namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

// What plain and TLS share: Asio's calls are the same, the types are not.
template <class Layer>
class StreamOver : public Stream {
 public:
  template <class... Args>
  explicit StreamOver(Args&&... args) : layer_(std::forward<Args>(args)...) {}

  Awaitable<ReadOutcome> read_some(asio::mutable_buffer into) override {
    const auto [ec, bytes] = co_await layer_.async_read_some(into, kAsTuple);
    co_return ReadOutcome{.error = ec, .bytes = bytes};
  }
  void write(std::move_only_function<void(error_code)> done) override {
    asio::async_write(layer_, asio::buffer(outgoing),
                      [self = shared_from_this(), done = std::move(done)](const error_code& ec,
                                                                          std::size_t) mutable { done(ec); });
  }

 protected:
  Layer layer_;
};

class PlainStream final : public StreamOver<tcp::socket> {
 public:
  explicit PlainStream(asio::io_context& context) : StreamOver(context) {}
  tcp::socket& socket() override { return layer_; }
  Awaitable<error_code> handshake() override { co_return error_code{}; }
};

class TlsStream final : public StreamOver<ssl::stream<tcp::socket>> {
 public:
  TlsStream(asio::io_context& context, net::TlsContext tls, const std::string& host)
      : StreamOver(context, *tls), tls_(std::move(tls)) {
    error_code not_an_address;
    asio::ip::make_address(host, not_an_address);
    // Server name indication is for names only (RFC 6066).
    if (not_an_address) SSL_set_tlsext_host_name(layer_.native_handle(), host.c_str());
    error_code ignored;
    layer_.set_verify_callback(ssl::host_name_verification(host), ignored);
  }
  tcp::socket& socket() override { return layer_.next_layer(); }
  Awaitable<error_code> handshake() override {
    const auto [ec] = co_await layer_.async_handshake(ssl::stream_base::client, kAsTuple);
    co_return ec;
  }

 private:
  net::TlsContext tls_;
};

}  // namespace

void Stream::close() {
  error_code ignored;
  socket().close(ignored);
}

StreamPtr make_stream(asio::io_context& context, const net::TlsContext& tls, const std::string& host) {
  if (tls) return std::make_shared<TlsStream>(context, tls, host);
  return std::make_shared<PlainStream>(context);
}

}  // namespace dripgate::redis
