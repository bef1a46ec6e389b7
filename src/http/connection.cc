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

// A body of so many bytes goes out behind its head in one piece.
constexpr std::size_t kBodyBesideHeadMax = 16u << 10;
// What a connection keeps for its next answer.
constexpr std::size_t kAnswerBytesKept = 64u << 10;
// Pipelined requests that are answered at once, before the other connections of the loop have their turn: a
// block that was read holds hundreds.
constexpr int kAnswersInARowMax = 8;

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
      reader_(core_->options.limits.header_bytes, core_->options.limits.body_bytes),
      deadline_(share.context, *transport_) {
  share_.connections.insert(this);
}

Connection::~Connection() {
  share_.connections.erase(this);
}

void Connection::wind_down() {
  if (waiting_for_request_) transport_->close();
}

Awaitable<void> Connection::serve() {
  deadline_.within(core_->options.limits.header_timeout);
  if (co_await transport_->handshake()) co_return;
  peer_.client_certificate = transport_->peer_certificate();
  co_await serve_requests();
}

// What waits is awaited here and nowhere deeper: a request that is here whole and answered at once is read,
// answered and sent without a pause.
Awaitable<void> Connection::serve_requests() {
  int in_a_row = 0;
  for (bool keep_alive = true; keep_alive;) {
    if (++in_a_row > kAnswersInARowMax) {
      in_a_row = 1;
      co_await asio::post(share_.context, asio::use_awaitable);
    }
    Counted body(core_->body_bytes, 0);
    deadline_of_ = Phase::none;
    Next next = advance(body);
    for (; next != Next::request; next = advance(body)) {
      if (next == Next::refused) {
        co_await refuse(std::move(refusal_));
        co_return;
      }
      if (next == Next::go_ahead) {
        co_await tell_go_ahead();
      } else if (!co_await read_more()) {
        co_return;
      } else {
        in_a_row = 1;
      }
    }
    deadline_.never();
    keep_alive = reader_.keep_alive();
    Request request = reader_.take();
    request.peer = peer_;
    const bool with_body = request.method != "HEAD";
    std::optional<Response> response;
    {
      const Counted in_hand(core_->in_flight, 1);
      if (core_->in_flight.load(std::memory_order_relaxed) > core_->options.limits.requests_in_flight) {
        response = overloaded("over " + std::to_string(core_->options.limits.requests_in_flight) +
                              " requests in flight");
      } else {
        ask_handler(std::move(request));
        response = reply_->take();
        if (!response) {
          co_await until_answered();
          response = reply_->take();
        }
      }
    }
    keep_alive = keep_alive && !core_->stopping.load(std::memory_order_relaxed);
    const std::string_view rest = render(*response, keep_alive, with_body);
    const Moved sent = transport_->write_now(asio::buffer(out_));
    if (sent.error) co_return;
    const bool whole = sent.bytes == out_.size() && rest.empty();
    if (!whole && !co_await write_rest(sent.bytes, rest)) co_return;
  }
  co_await linger();
}

Connection::Next Connection::advance(Counted& body) {
  for (;;) {
    const RequestReader::Step step = reader_.advance();
    if (reader_.in_body() && !within_body_budget(body)) return Next::refused;
    switch (step) {
      case RequestReader::Step::need_bytes:
        return Next::bytes;
      case RequestReader::Step::head:
        if (const Next next = head_read(); next != Next::bytes) return next;
        break;
      case RequestReader::Step::complete:
        return Next::request;
      case RequestReader::Step::refused: {
        const auto& why = reader_.refusal();
        refusal_ = problem(why.status, why.kind, why.detail);
        return Next::refused;
      }
    }
  }
}

Awaitable<bool> Connection::read_more() {
  if (!reader_.begun() && core_->stopping.load(std::memory_order_relaxed)) co_return false;
  set_read_deadline();
  waiting_for_request_ = !reader_.begun();
  const std::span<char> space = reader_.space();
  const Moved read = co_await transport_->read_some(asio::buffer(space.data(), space.size()));
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
  deadline_.within(phase == Phase::body     ? limits.body_timeout
                   : phase == Phase::header ? limits.header_timeout
                                            : limits.idle_timeout);
}

/// `bytes`: the body may come.
Connection::Next Connection::head_read() {
  Request& head = reader_.head();
  // Without a body there is nothing to save: the handler refuses as well, and the connection stays.
  if (core_->options.head_check && announces_body(head.headers)) {
    head.peer = peer_;
    if (auto refusal = core_->options.head_check(head)) {
      refusal_ = std::move(*refusal);
      return Next::refused;
    }
  }
  const std::string* expect = find(head.headers, "Expect");
  if (expect != nullptr && !same_name(*expect, "100-continue")) {
    refusal_ = problem(417, "expectation-failed", "accepted: Expect: 100-continue");
    return Next::refused;
  }
  return reader_.expects_continue() ? Next::go_ahead : Next::bytes;
}

Awaitable<void> Connection::tell_go_ahead() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  set_read_deadline();
  // A failed write shows at the next read.
  (void)co_await transport_->write(asio::buffer(kContinue.data(), kContinue.size()), asio::const_buffer());
}

bool Connection::within_body_budget(Counted& body) {
  const std::size_t grown = reader_.body_bytes() - body.amount();
  if (grown == 0 || body.add(grown) <= core_->options.limits.body_bytes_total) return true;
  refusal_ = overloaded("the bodies of all requests in hand are over " +
                        std::to_string(core_->options.limits.body_bytes_total) + " bytes");
  return false;
}

void Connection::ask_handler(Request&& request) {
  Reply reply = reply_->open(share_.loop.lock());
  try {
    core_->handler(std::move(request), std::move(reply));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // The reply is dropped on the way out: it answers 500.
  }
}

Awaitable<void> Connection::until_answered() {
  const auto initiate = [this](auto completion) { reply_->await(std::move(completion)); };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable);
}

/// Into `out_`; what of the body is not in it, too large to be copied, is the result.
std::string_view Connection::render(const Response& response, bool keep_alive, bool with_body) {
  out_.clear();
  if (out_.capacity() > kAnswerBytesKept) out_.shrink_to_fit();
  append_answer_head(out_, response, keep_alive);
  if (!with_body || !has_body(response.status)) return {};
  if (response.body.size() > kBodyBesideHeadMax) return response.body;
  out_ += response.body;
  return {};
}

Awaitable<bool> Connection::write(const Response& response, bool keep_alive, bool with_body) {
  co_return co_await write_rest(0, render(response, keep_alive, with_body));
}

/// `written`: so much of `out_` is out.
Awaitable<bool> Connection::write_rest(std::size_t written, std::string_view body) {
  deadline_.within(core_->options.limits.write_timeout);
  const error_code ec = co_await transport_->write(asio::buffer(out_) + written, asio::buffer(body));
  co_return !ec;
}

Awaitable<void> Connection::refuse(Response response) {
  const bool with_body = reader_.head().method != "HEAD";
  if (!co_await write(response, false, with_body)) co_return;
  co_await linger();
}

Awaitable<void> Connection::linger() {
  deadline_.within(kLingerTimeout);
  co_await transport_->end_writing();
  for (;;) {
    const std::span<char> space = reader_.space();
    const Moved read = co_await transport_->read_some(asio::buffer(space.data(), space.size()));
    if (read.error) co_return;
  }
}

Awaitable<void> Connection::turn_away() {
  if (core_->tls) co_return;  // a handshake is what we have no room for
  co_await refuse(overloaded("over " + std::to_string(core_->options.limits.connections) + " connections"));
}

}  // namespace dripgate::http
