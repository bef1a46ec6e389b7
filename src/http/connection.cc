// Connection: the server side of one client.
#include "http/connection.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/problem.h"
#include "http/wire.h"

namespace dripgate::http {

namespace asio = boost::asio;

namespace {

bool announces_body(const Headers& headers) {
  const std::string_view length = value_of(headers, "Content-Length");
  return (!length.empty() && length != "0") || find(headers, "Transfer-Encoding") != nullptr;
}

// After a refusal the client may still be sending: closing at once would reset the connection under our
// answer.
constexpr Duration kLingerTimeout = 2s;
constexpr Duration kRetryShedAfter = 1s;

/// The handler's way back to the coroutine. Dropped uncalled, it answers 500: a client never waits for
/// nothing. Holds the io_context, so that a late reply finds it alive.
template <class Completion>
class ReplyTicket {
 public:
  ReplyTicket(std::shared_ptr<net::IoLoop::Impl> loop, Completion completion)
      : loop_(std::move(loop)), completion_(std::make_unique<Completion>(std::move(completion))) {}
  ReplyTicket(ReplyTicket&&) noexcept = default;
  ReplyTicket& operator=(ReplyTicket&&) = delete;
  ~ReplyTicket() {  // NOLINT(bugprone-exception-escape): out of memory ends the process
    if (completion_) (*this)(problem(500, "internal", "the request was dropped"));
  }

  void operator()(Response response) {
    auto completion = std::move(completion_);
    if (!completion) return;
    asio::post(loop_->context,
               [completion = std::move(completion), response = std::move(response)]() mutable {
                 (*completion)(std::move(response));
               });
  }

 private:
  std::shared_ptr<net::IoLoop::Impl> loop_;
  std::unique_ptr<Completion> completion_;
};

Response overloaded(const std::string& detail) {
  return problem(503, "overloaded", detail, kRetryShedAfter);
}

}  // namespace

Connection::Connection(std::shared_ptr<ServerCore> core, LoopShare& share,
                       std::unique_ptr<Transport> transport, Peer peer)
    : core_(std::move(core)),
      share_(share),
      transport_(std::move(transport)),
      peer_(std::move(peer)),
      reader_(core_->options.limits.header_bytes, core_->options.limits.body_bytes) {
  share_.connections.insert(this);
}

Connection::~Connection() {
  share_.connections.erase(this);
}

void Connection::wind_down() {
  if (waiting_for_request_) transport_->close();
}

Awaitable<void> Connection::serve() {
  transport_->expires_after(core_->options.limits.header_timeout);
  if (co_await transport_->handshake()) co_return;
  peer_.client_certificate = transport_->peer_certificate();
  co_await serve_requests();
}

Awaitable<void> Connection::serve_requests() {
  bool keep_alive = true;
  while (keep_alive) {
    Counted body(core_->body_bytes, 0);
    const Next next = co_await read_request(body);
    if (next == Next::closed) co_return;
    if (next == Next::refused) {
      co_await refuse(std::move(refusal_));
      co_return;
    }
    keep_alive = reader_.keep_alive();
    Request request = reader_.take();
    request.peer = peer_;
    const bool with_body = request.method != "HEAD";
    const Response response = co_await answer(std::move(request));
    keep_alive = keep_alive && !core_->stopping.load(std::memory_order_relaxed);
    if (!co_await write(response, keep_alive, with_body)) co_return;
  }
  co_await linger();
}

Awaitable<Connection::Next> Connection::read_request(Counted& body) {
  deadline_of_ = Phase::none;
  for (;;) {
    const RequestReader::Step step = reader_.advance();
    if (reader_.in_body() && !within_body_budget(body)) co_return Next::refused;
    switch (step) {
      case RequestReader::Step::need_bytes:
        if (!co_await read_more()) co_return Next::closed;
        break;
      case RequestReader::Step::head:
        if (!co_await head_accepted()) co_return Next::refused;
        break;
      case RequestReader::Step::complete:
        co_return Next::request;
      case RequestReader::Step::refused: {
        const auto& why = reader_.refusal();
        refusal_ = problem(why.status, why.kind, why.detail);
        co_return Next::refused;
      }
    }
  }
}

Awaitable<bool> Connection::read_more() {
  if (!reader_.begun() && core_->stopping.load(std::memory_order_relaxed)) co_return false;
  set_read_deadline();
  waiting_for_request_ = !reader_.begun();
  const std::span<char> space = reader_.space();
  const ReadOutcome read = co_await transport_->read_some(asio::buffer(space.data(), space.size()));
  waiting_for_request_ = false;
  if (read.error) co_return false;
  reader_.added(read.bytes);
  co_return true;
}

// One deadline per phase, not per read: a client that drips a byte a second gains nothing.
void Connection::set_read_deadline() {
  const ServerLimits& limits = core_->options.limits;
  const Phase phase = reader_.in_body() ? Phase::body : reader_.begun() ? Phase::header : Phase::idle;
  if (phase == deadline_of_) return;
  deadline_of_ = phase;
  transport_->expires_after(phase == Phase::body     ? limits.body_timeout
                            : phase == Phase::header ? limits.header_timeout
                                                     : limits.idle_timeout);
}

Awaitable<bool> Connection::head_accepted() {
  // Without a body there is nothing to save: the handler refuses as well, and the connection stays.
  if (core_->options.head_check && announces_body(reader_.head().headers)) {
    Request head = reader_.head();
    head.peer = peer_;
    if (auto refusal = core_->options.head_check(head)) {
      refusal_ = std::move(*refusal);
      co_return false;
    }
  }
  const std::string* expect = find(reader_.head().headers, "Expect");
  if (expect != nullptr && !same_name(*expect, "100-continue")) {
    refusal_ = problem(417, "expectation-failed", "accepted: Expect: 100-continue");
    co_return false;
  }
  if (!reader_.expects_continue()) co_return true;
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  set_read_deadline();
  // A failed write shows at the next read.
  (void)co_await transport_->write(asio::buffer(kContinue.data(), kContinue.size()), asio::const_buffer());
  co_return true;
}

bool Connection::within_body_budget(Counted& body) {
  const std::size_t grown = reader_.body_bytes() - body.amount();
  if (grown == 0 || body.add(grown) <= core_->options.limits.body_bytes_total) return true;
  refusal_ = overloaded("the bodies of all requests in hand are over " +
                        std::to_string(core_->options.limits.body_bytes_total) + " bytes");
  return false;
}

Awaitable<Response> Connection::answer(Request request) {
  const Counted in_hand(core_->in_flight, 1);
  if (core_->in_flight.load(std::memory_order_relaxed) > core_->options.limits.requests_in_flight) {
    co_return overloaded("over " + std::to_string(core_->options.limits.requests_in_flight) +
                         " requests in flight");
  }
  co_return co_await ask_handler(std::move(request));
}

Awaitable<Response> Connection::ask_handler(Request request) {
  const auto initiate = [this, &request](auto completion) {
    Reply reply(ReplyTicket(share_.loop.lock(), std::move(completion)));
    try {
      core_->handler(std::move(request), std::move(reply));
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
      // The reply is dropped on the way out: its ticket answers 500.
    }
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Response)>(initiate,
                                                                                         asio::use_awaitable);
}

Awaitable<bool> Connection::write(const Response& response, bool keep_alive, bool with_body) {
  const std::string head = answer_head(response, keep_alive);
  const bool body = with_body && has_body(response.status);
  transport_->expires_after(core_->options.limits.write_timeout);
  const error_code ec = co_await transport_->write(asio::buffer(head),
                                                   body ? asio::buffer(response.body) : asio::const_buffer());
  co_return !ec;
}

Awaitable<void> Connection::refuse(Response response) {
  const bool with_body = reader_.head().method != "HEAD";
  if (!co_await write(response, false, with_body)) co_return;
  co_await linger();
}

Awaitable<void> Connection::linger() {
  transport_->expires_after(kLingerTimeout);
  co_await transport_->end_writing();
  for (;;) {
    const std::span<char> space = reader_.space();
    const ReadOutcome read = co_await transport_->read_some(asio::buffer(space.data(), space.size()));
    if (read.error) co_return;
  }
}

Awaitable<void> Connection::turn_away() {
  if (core_->tls) co_return;  // a handshake is what we have no room for
  co_await refuse(overloaded("over " + std::to_string(core_->options.limits.connections) + " connections"));
}

}  // namespace dripgate::http
