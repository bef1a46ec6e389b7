#include "redis/dialer.h"

#include <array>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace dripgate::redis {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kGreetingReadBytes = 1024;

std::unexpected<Error> unreachable(const std::string& node, const std::string& what, const error_code& ec) {
  return fail(ErrorCode::unavailable, at_node(node, what + ": " + ec.message()), true);
}

}  // namespace

Dialer::Dialer(asio::io_context& context, Identity identity, net::TlsContext tls, Duration timeout)
    : context_(context),
      identity_(std::move(identity)),
      tls_(std::move(tls)),
      resolver_(context),
      deadline_(context),
      timeout_(timeout) {}

void Dialer::cancel() {
  resolver_.cancel();
  if (stream_) stream_->close();
}

void Dialer::start_deadline() {
  late_ = false;
  deadline_.expires_after(timeout_);
  deadline_.async_wait([weak = weak_from_this(), dial = ++dials_](const error_code& ec) {
    const auto self = weak.lock();
    if (ec || !self || self->dials_ != dial) return;
    self->late_ = true;
    self->cancel();
  });
}

std::optional<std::unexpected<Error>> Dialer::end_deadline(const std::string& node) {
  ++dials_;
  deadline_.cancel();
  if (!late_) return std::nullopt;
  return fail(ErrorCode::unavailable, at_node(node, "no connection in time"), true);
}

Awaitable<Result<StreamPtr>> Dialer::dial(Endpoint endpoint) {
  start_deadline();
  Result<void> done = co_await open(endpoint);
  StreamPtr stream = std::exchange(stream_, nullptr);
  if (auto late = end_deadline(endpoint.text())) co_return std::move(*late);
  if (done) co_return stream;
  stream->close();
  co_return std::unexpected(std::move(done.error()));
}

Awaitable<Result<Reply>> Dialer::ask(Endpoint endpoint, std::string wire) {
  start_deadline();
  Result<Reply> reply;
  if (Result<void> done = co_await open(endpoint); done) {
    reply = co_await exchange(endpoint.text(), std::move(wire));
  } else {
    reply = std::unexpected(std::move(done.error()));
  }
  stream_->close();
  stream_.reset();
  if (auto late = end_deadline(endpoint.text())) co_return std::move(*late);
  co_return reply;
}

Awaitable<Result<void>> Dialer::open(Endpoint endpoint) {
  stream_ = make_stream(context_, tls_, endpoint.host);
  Result<void> done = co_await reach(endpoint);
  if (done) done = co_await greet(endpoint.text());
  co_return done;
}

Awaitable<Result<Reply>> Dialer::exchange(std::string node, std::string wire) {
  stream_->outgoing = std::move(wire);
  stream_->write([](const error_code&) {});  // a failure shows in the read
  ReplyReader reader;
  Parsed reply;
  std::array<char, kGreetingReadBytes> bytes;
  for (;;) {
    const ReadOutcome read = co_await stream_->read_some(asio::buffer(bytes));
    if (read.error) co_return unreachable(node, "the connection broke", read.error);
    reader.feed({bytes.data(), read.bytes});
    const Result<bool> whole = reader.next(reply);
    if (!whole) co_return std::unexpected(whole.error());
    if (!*whole) continue;
    if (!reply) co_return std::unexpected(classify(reply.error(), node).error);
    co_return std::move(*reply);
  }
}

Awaitable<Result<void>> Dialer::reach(const Endpoint& endpoint) {
  const std::string node = endpoint.text();
  error_code no_address;
  const asio::ip::address address = asio::ip::make_address(endpoint.host, no_address);
  std::vector<tcp::endpoint> places;
  if (!no_address) {
    places.emplace_back(address, endpoint.port);
  } else {
    const auto [ec, found] =
        co_await resolver_.async_resolve(endpoint.host, std::to_string(endpoint.port), kAsTuple);
    if (ec) co_return unreachable(node, "cannot resolve its name", ec);
    for (const auto& entry : found) places.push_back(entry.endpoint());
  }
  if (late_) co_return fail(ErrorCode::unavailable, at_node(node, "its name was found too late"), true);
  const auto [ec, place] = co_await asio::async_connect(stream_->socket(), places, kAsTuple);
  if (ec) co_return unreachable(node, "cannot connect", ec);
  error_code ignored;
  stream_->socket().set_option(tcp::no_delay(true), ignored);
  stream_->socket().set_option(asio::socket_base::keep_alive(true), ignored);
  if (const error_code failed = co_await stream_->handshake()) {
    co_return unreachable(node, "TLS handshake failed", failed);
  }
  co_return Result<void>{};
}

Awaitable<Result<void>> Dialer::greet(const std::string& node) {
  Greeting greeting(identity_);
  stream_->outgoing = greeting.wire();
  stream_->write([](const error_code&) {});  // a failure shows in the read
  std::array<char, kGreetingReadBytes> bytes;
  for (;;) {
    const ReadOutcome read = co_await stream_->read_some(asio::buffer(bytes));
    if (read.error) co_return unreachable(node, "the connection broke in the greeting", read.error);
    const Result<bool> done = greeting.received({bytes.data(), read.bytes}, node);
    if (!done) co_return std::unexpected(done.error());
    if (*done) co_return Result<void>{};
  }
}

}  // namespace dripgate::redis
