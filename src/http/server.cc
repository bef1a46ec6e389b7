// Server: binds, accepts, spreads connections over loops, stops in order.
#include "http/server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/connection.h"

namespace dripgate::http {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr Duration kAcceptPause = 50ms;     // out of file descriptors: let some close
constexpr std::size_t kTurnedAwayMax = 64;  // connections over the cap that still get their 503

Peer peer_of(const tcp::socket& socket) {
  error_code ec;
  const tcp::endpoint remote = socket.remote_endpoint(ec);
  if (ec) return {};
  asio::ip::address address = remote.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  }
  return {.address = address.to_string(),
          .port = remote.port(),
          .loopback = address.is_loopback(),
          .client_certificate = std::nullopt};
}

Result<tcp::endpoint> endpoint_of(const ServerOptions& options) {
  const std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  error_code ec;
  const asio::ip::address address = asio::ip::make_address(host, ec);
  if (ec) {
    return fail(ErrorCode::invalid_argument,
                "server.listen: host '" + options.host +
                    "' is not an address; accepted: an IPv4 or IPv6 address, localhost");
  }
  return tcp::endpoint(address, options.port);
}

// Keeps the counts right however the coroutine ends.
struct Presence {
  std::shared_ptr<ServerCore> core;
  explicit Presence(std::shared_ptr<ServerCore> c) : core(std::move(c)) {}
  Presence(Presence&&) noexcept = default;
  Presence& operator=(Presence&&) = delete;
  ~Presence() {
    if (!core) return;
    if (core->connections.fetch_sub(1) == 1 && core->stopping.load()) core->on_last_closed();
  }
};

Awaitable<void> serve(std::shared_ptr<ServerCore> core, LoopShare& share, tcp::socket socket, Presence) {
  Peer peer = peer_of(socket);
  auto transport =
      core->tls ? tls_server_transport(std::move(socket), core->tls) : plain_transport(std::move(socket));
  Connection connection(core, share, std::move(transport), std::move(peer));
  if (core->connections.load(std::memory_order_relaxed) > core->options.limits.connections) {
    co_await connection.turn_away();
  } else if (!core->stopping.load(std::memory_order_relaxed)) {
    co_await connection.serve();
  }
}

}  // namespace

struct Server::Impl : std::enable_shared_from_this<Server::Impl> {
  std::shared_ptr<ServerCore> core;
  tcp::acceptor acceptor;
  asio::steady_timer grace;
  std::uint16_t port = 0;
  Task stopped;  // loops[0] only

  Impl(std::shared_ptr<ServerCore> c, asio::io_context& first)
      : core(std::move(c)), acceptor(first), grace(first) {}

  Result<void> bind(const tcp::endpoint& endpoint) {
    error_code ec;
    acceptor.open(endpoint.protocol(), ec);
    if (!ec) acceptor.set_option(asio::socket_base::reuse_address(true), ec);
    if (!ec && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(false), ec);
    if (!ec) acceptor.bind(endpoint, ec);
    if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
    if (!ec) port = acceptor.local_endpoint(ec).port();
    if (!ec) return {};
    return fail(ErrorCode::unavailable, "cannot listen on " + endpoint.address().to_string() + ":" +
                                            std::to_string(endpoint.port()) + ": " + ec.message());
  }

  Awaitable<void> accept_all() {
    std::size_t turn = 0;
    while (acceptor.is_open()) {
      LoopShare& share = *core->shares[turn++ % core->shares.size()];
      auto [ec, socket] = co_await acceptor.async_accept(share.context, asio::as_tuple(asio::use_awaitable));
      if (ec == asio::error::operation_aborted) co_return;
      if (ec) {
        asio::steady_timer pause(acceptor.get_executor(), kAcceptPause);
        co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
        continue;
      }
      take(share, std::move(socket));
    }
  }

  void take(LoopShare& share, tcp::socket socket) {
    const std::size_t open = core->connections.fetch_add(1) + 1;
    Presence presence(core);
    if (open > core->options.limits.connections + kTurnedAwayMax) return;
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    asio::co_spawn(share.context, serve(core, share, std::move(socket), std::move(presence)), asio::detached);
  }

  // On loops[0].
  void stop(Duration wait, Task done) {
    stopped = std::move(done);
    error_code ignored;
    acceptor.close(ignored);
    core->stopping.store(true);
    for (auto& share : core->shares) {
      asio::post(share->context, [core = core, &share = *share] {
        for (Connection* connection : share.connections) connection->wind_down();
      });
    }
    grace.expires_after(wait);
    grace.async_wait([self = shared_from_this()](const error_code& ec) {
      if (!ec) self->close_all();
    });
    if (core->connections.load() == 0) finish();
  }

  void close_all() {
    for (auto& share : core->shares) {
      asio::post(share->context, [core = core, &share = *share] {
        for (Connection* connection : share.connections) connection->close();
      });
    }
    // A handler that has not answered by now is not waited for.
    asio::post(core->shares[0]->context, [self = shared_from_this()] { self->finish(); });
  }

  void finish() {
    grace.cancel();
    if (auto done = std::exchange(stopped, nullptr)) done();
  }
};

Result<std::unique_ptr<Server>> Server::listen(ServerOptions options, const std::vector<net::IoLoop*>& loops,
                                               Handler handler) {
  auto endpoint = endpoint_of(options);
  if (!endpoint) return std::unexpected(endpoint.error());
  auto core = std::make_shared<ServerCore>();
  if (options.tls) {
    auto tls = net::server_tls(*options.tls);
    if (!tls) return std::unexpected(tls.error());
    core->tls = std::move(*tls);
  }
  core->options = std::move(options);
  core->handler = std::move(handler);
  for (net::IoLoop* loop : loops) core->shares.push_back(std::make_unique<LoopShare>(loop->impl()));
  asio::io_context& first = core->shares.at(0)->context;
  auto impl = std::make_shared<Impl>(core, first);
  core->on_last_closed = [weak = std::weak_ptr(impl)] {
    const auto self = weak.lock();
    if (self) asio::post(self->acceptor.get_executor(), [self] { self->finish(); });
  };
  if (auto bound = impl->bind(*endpoint); !bound) return std::unexpected(bound.error());
  asio::co_spawn(first, [impl] { return impl->accept_all(); }, asio::detached);
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  error_code ignored;
  impl_->acceptor.close(ignored);
}

std::uint16_t Server::port() const {
  return impl_->port;
}

std::size_t Server::connections() const {
  return impl_->core->connections.load();
}

void Server::stop(Duration grace, Task done) {
  asio::post(impl_->core->shares[0]->context,
             [impl = impl_, grace, done = std::move(done)]() mutable { impl->stop(grace, std::move(done)); });
}

}  // namespace dripgate::http
