// ClientWorker: one connection of the client's pool.
#include "http/client_worker.h"

#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/answer_reader.h"
#include "http/wire.h"

namespace dripgate::http {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
// steady_clock counts nanoseconds: longer waits would overflow it.
constexpr Duration kTimeoutMax = std::chrono::hours{24};

std::unexpected<Error> unreachable(std::string what, const error_code& ec) {
  return fail(ErrorCode::unavailable, std::move(what) + ": " + ec.message(), true);
}

}  // namespace

ClientWorker::ClientWorker(asio::io_context& context, const Url& origin, net::TlsContext tls)
    : wake(context),
      origin_(origin),
      tls_(std::move(tls)),
      resolver_(context),
      connecting_(context),
      deadline_(context) {}

Awaitable<void> ClientWorker::exchange(PendingPtr pending) {
  in_hand_ = pending;
  start_deadline(pending->call.timeout);
  Result<Response> result = co_await attempt(pending->call);
  ++calls_;
  deadline_.cancel();
  if (!result) disconnect();
  in_hand_.reset();
  pending->finish(std::move(result));
}

// The deadline answers the caller itself: a name look-up cannot be cut short, but nobody has to wait for it.
void ClientWorker::start_deadline(Duration timeout) {
  deadline_.expires_after(std::clamp(timeout, Duration{0}, kTimeoutMax));
  deadline_.async_wait([weak = weak_from_this(), call = calls_, timeout](const error_code& ec) {
    const auto self = weak.lock();
    if (ec || !self || self->calls_ != call) return;
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
    self->abort({.code = ErrorCode::timed_out,
                 .transient = true,
                 .detail = "no whole answer within " + std::to_string(milliseconds) + " ms"});
  });
}

void ClientWorker::abort(Error why) {
  resolver_.cancel();
  disconnect();
  if (const PendingPtr pending = in_hand_) pending->finish(std::unexpected(std::move(why)));
}

void ClientWorker::disconnect() {
  error_code ignored;
  connecting_.close(ignored);
  if (transport_) transport_->close();
}

Awaitable<Result<Response>> ClientWorker::attempt(Call& call) {
  if (!transport_ || !transport_->looks_alive()) {
    transport_.reset();
    if (auto connected = co_await connect(); !connected) co_return std::unexpected(connected.error());
  }
  if (!in_hand_->done) co_return fail(ErrorCode::timed_out, "the deadline passed while connecting", true);
  if (call.still_wanted && !call.still_wanted()) {
    co_return fail(ErrorCode::cancelled, "no longer wanted when a connection was ready", true);
  }
  const std::string head =
      request_head(call.method, call.target, origin_.authority(), call.headers, call.body.size());
  const error_code written = co_await transport_->write(asio::buffer(head), asio::buffer(call.body));
  // A peer may refuse and close before it has read everything: its answer counts, not our broken pipe.
  Result<Response> answer = co_await read_answer(call);
  if (!answer && written) co_return unreachable("sending failed", written);
  if (written) disconnect();
  co_return answer;
}

Awaitable<Result<std::vector<tcp::endpoint>>> ClientWorker::resolve() {
  error_code no_address;
  const asio::ip::address address = asio::ip::make_address(origin_.host, no_address);
  if (!no_address) co_return std::vector{tcp::endpoint(address, origin_.port)};
  const auto [ec, found] =
      co_await resolver_.async_resolve(origin_.host, std::to_string(origin_.port), kAsTuple);
  if (ec) co_return unreachable("cannot resolve '" + origin_.host + "'", ec);
  std::vector<tcp::endpoint> endpoints;
  for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  co_return endpoints;
}

Awaitable<Result<void>> ClientWorker::connect() {
  const auto endpoints = co_await resolve();
  if (!endpoints) co_return std::unexpected(endpoints.error());
  if (!in_hand_->done) co_return fail(ErrorCode::timed_out, "the deadline passed while resolving", true);
  const auto [ec, endpoint] = co_await asio::async_connect(connecting_, *endpoints, kAsTuple);
  if (ec) co_return unreachable("cannot connect to " + origin_.authority(), ec);
  error_code ignored;
  connecting_.set_option(tcp::no_delay(true), ignored);
  transport_ = tls_ ? tls_client_transport(std::move(connecting_), tls_, origin_.host)
                    : plain_transport(std::move(connecting_));
  if (const error_code failed = co_await transport_->handshake()) {
    co_return unreachable("TLS handshake with " + origin_.authority() + " failed", failed);
  }
  co_return Result<void>{};
}

Awaitable<Result<Response>> ClientWorker::read_answer(const Call& call) {
  AnswerReader reader(call.method == "HEAD", call.answer_bytes_max);
  for (;;) {
    const std::span<char> space = reader.space();
    const Moved read = co_await transport_->read_some(asio::buffer(space.data(), space.size()));
    if (read.error && read.error != asio::error::eof)
      co_return unreachable("the connection broke", read.error);
    const Result<bool> complete = read.error ? reader.ended() : reader.added(read.bytes);
    if (!complete) co_return std::unexpected(complete.error());
    if (!*complete) continue;
    if (read.error || !reader.keep_alive()) disconnect();
    co_return reader.take();
  }
}

}  // namespace dripgate::http
