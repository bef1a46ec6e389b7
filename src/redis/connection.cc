#include "redis/connection.h"

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/io_loop_impl.h"

namespace dripgate::redis {

namespace asio = boost::asio;

namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
// Deadlines closer together than this share one look at the calls in flight.
constexpr Duration kDeadlineGrain{200};

}  // namespace

Locate always_at(Endpoint endpoint) {
  return [endpoint = std::move(endpoint)]() -> Awaitable<Result<Endpoint>> { co_return endpoint; };
}

Connection::Connection(net::IoLoop& loop, std::string node, Locate locate, ConnectionSetup setup)
    : loop_(loop),
      context_(loop.impl()->context),
      node_(std::move(node)),
      locate_(std::move(locate)),
      timeout_(setup.timeout),
      dialer_(std::make_shared<Dialer>(context_, std::move(setup.identity), std::move(setup.tls))),
      calls_(node_, setup.bounds),
      delay_(setup.seed),
      retry_timer_(context_),
      deadline_timer_(context_) {}

void Connection::start() {
  asio::co_spawn(context_, live(shared_from_this()), asio::detached);
}

// Static: the frame holds the Connection, not the other way round.
Awaitable<void> Connection::live(std::shared_ptr<Connection> self) {
  while (self->state_ != State::closed) {
    self->retry_at_once_ = false;
    Result<StreamPtr> dialed = co_await self->dial();
    if (self->state_ == State::closed) {
      if (dialed) (*dialed)->close();
      break;
    }
    if (dialed) {
      co_await self->serve(std::move(*dialed));
    } else {
      self->last_failure_ = {.kind = FailureKind::unsent, .error = std::move(dialed.error())};
    }
    if (self->state_ != State::closed && !self->retry_at_once_) co_await self->wait();
  }
}

Awaitable<Result<StreamPtr>> Connection::dial() {
  Result<Endpoint> endpoint = co_await locate_();
  if (!endpoint) co_return std::unexpected(std::move(endpoint.error()));
  node_ = endpoint->text();
  calls_.rename(node_);
  co_return co_await dialer_->dial(*endpoint);
}

Awaitable<void> Connection::serve(StreamPtr stream) {
  const MonoTime since = loop_.now();
  state_ = State::ready;
  stream_ = stream;
  schedule_flush();
  const std::string why = co_await read_all(stream);
  stream->close();
  stream_.reset();
  writing_ = false;
  if (state_ == State::closed) co_return;
  state_ = State::dialing;
  last_failure_ = unsent(ErrorCode::unavailable, node_, why);
  // One that lasted was a good one: the next try is not a repeat. Others wait, or a server that accepts and
  // drops would be asked without end.
  if (loop_.now() - since >= kReconnectMax) {
    delay_.reset();
    retry_at_once_ = true;
  }
  calls_.disconnected(why);
}

Awaitable<std::string> Connection::read_all(StreamPtr stream) {
  for (;;) {
    const ReadOutcome read = co_await stream->read_some(asio::buffer(read_buffer_));
    if (!reconnect_why_.empty()) co_return std::exchange(reconnect_why_, {});
    if (read.error) co_return "the connection broke: " + read.error.message();
    silent_since_ = loop_.now();
    const Result<void> understood = calls_.received({read_buffer_.data(), read.bytes});
    if (!understood) co_return understood.error().detail;
  }
}

Awaitable<void> Connection::wait() {
  state_ = State::waiting;
  calls_.fail_queued(last_failure_);
  schedule_flush();  // of what waits for a write
  retry_timer_.expires_after(delay_.next());
  (void)co_await retry_timer_.async_wait(kAsTuple);
  if (state_ != State::closed) state_ = State::dialing;
}

void Connection::reconnect(std::string why) {
  if (state_ == State::dialing) dialer_->cancel();
  if (state_ != State::ready) return;
  reconnect_why_ = std::move(why);
  stream_->close();
}

void Connection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  dialer_->cancel();
  retry_timer_.cancel();
  deadline_timer_.cancel();
  if (stream_) stream_->close();
  last_failure_ = unsent(ErrorCode::cancelled, node_, "the client is closed");
  last_failure_.error.transient = false;
  calls_.disconnected("the client was closed before the answer");
  calls_.fail_queued(last_failure_);
  run_tasks();
}

void Connection::fail_later(Answered done, Failure why) {
  asio::post(context_, [done = std::move(done), why = std::move(why)]() mutable {
    done(std::unexpected(std::move(why)));
  });
}

void Connection::send(std::string_view wire, MonoTime deadline, Answered done) {
  if (state_ == State::waiting || state_ == State::closed) return fail_later(std::move(done), last_failure_);
  if (auto refused = calls_.send(wire, deadline, done)) {
    return fail_later(std::move(done), std::move(*refused));
  }
  arm(deadline);
  schedule_flush();
}

void Connection::when_writable(Task task) {
  tasks_.push_back(std::move(task));
  schedule_flush();
}

// At the end of this turn of the loop, so that what a batch of replies sets off goes out as one write.
void Connection::schedule_flush() {
  const bool hangs = writing_ && loop_.now() - write_started_ >= timeout_;
  if (flush_scheduled_ || (writing_ && !hangs)) return;
  flush_scheduled_ = true;
  asio::post(context_, [self = shared_from_this()] {
    self->flush_scheduled_ = false;
    self->flush();
  });
}

void Connection::flush() {
  run_tasks();
  if (state_ != State::ready || writing_) return;
  const bool owed_nothing = calls_.in_flight() == 0;
  calls_.take_output(stream_->outgoing);
  if (stream_->outgoing.empty()) return;
  writing_ = true;
  write_started_ = loop_.now();
  if (owed_nothing) silent_since_ = write_started_;
  stream_->write([self = shared_from_this(), stream = stream_](const error_code& ec) {
    if (self->stream_ != stream) return;
    self->writing_ = false;
    if (ec) return stream->close();  // the reader sees it
    self->flush();
  });
}

void Connection::run_tasks() {
  for (Task& task : std::exchange(tasks_, {})) task();
}

void Connection::arm(MonoTime when) {
  if (armed_ && armed_for_ <= when) return;
  armed_ = true;
  armed_for_ = when;
  deadline_timer_.expires_at(when);
  deadline_timer_.async_wait([self = shared_from_this(), when](const error_code& ec) {
    if (!ec && self->armed_ && self->armed_for_ == when) self->on_deadline();
  });
}

void Connection::on_deadline() {
  armed_ = false;
  const MonoTime now = loop_.now();
  const auto next = calls_.expire(now);
  if (next) arm(std::max(*next, now + kDeadlineGrain));
  if (writing_ && now - write_started_ >= timeout_) run_tasks();
  watch_silence(now);
}

// Not while a call with a long timeout is the one whose reply comes next: it may keep the others.
void Connection::watch_silence(MonoTime now) {
  if (state_ != State::ready || !calls_.owes_late_reply()) return;
  if (now - silent_since_ >= kSilenceMax) return reconnect("no answer for too long");
  arm(silent_since_ + kSilenceMax);
}

}  // namespace dripgate::redis
