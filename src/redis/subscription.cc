#include "redis/subscription.h"

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/io_loop_impl.h"
#include "redis/encode.h"

namespace dripgate::redis {

namespace asio = boost::asio;

namespace {

const std::string kPing = encode(std::array<std::string_view, 1>{"PING"});

}  // namespace

Subscription::Subscription(net::IoLoop& loop, Locate locate, const ConnectionSetup& setup,
                           std::string channels_wire, SubscriberHandlers handlers)
    : loop_(loop),
      locate_(std::move(locate)),
      channels_wire_(std::move(channels_wire)),
      handlers_(std::move(handlers)),
      dialer_(std::make_shared<Dialer>(loop.impl()->context, setup.identity, setup.tls)),
      delay_(setup.seed),
      retry_timer_(loop.impl()->context),
      ping_timer_(loop.impl()->context) {}

void Subscription::start() {
  asio::co_spawn(loop_.impl()->context, live(shared_from_this()), asio::detached);
}

void Subscription::close() {
  closed_ = true;
  dialer_->cancel();
  retry_timer_.cancel();
  ping_timer_.cancel();
  if (stream_) stream_->close();
}

// Static: the frame holds the Subscription, not the other way round.
Awaitable<void> Subscription::live(std::shared_ptr<Subscription> self) {
  while (!self->closed_) {
    const MonoTime start = self->loop_.now();
    if (co_await self->dial()) co_await self->listen();
    if (self->closed_) break;
    if (self->loop_.now() - start >= kReconnectMax) self->delay_.reset();
    const Duration wait = std::exchange(self->refused_, false) ? kSubscribeRefusedRetry : self->delay_.next();
    self->retry_timer_.expires_after(wait);
    (void)co_await self->retry_timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

Awaitable<bool> Subscription::dial() {
  Result<Endpoint> endpoint = co_await locate_();
  if (!endpoint || closed_) co_return false;
  node_ = endpoint->text();
  Result<StreamPtr> dialed = co_await dialer_->dial(*endpoint);
  if (!dialed) co_return false;
  stream_ = std::move(*dialed);
  co_return true;
}

Awaitable<void> Subscription::listen() {
  const StreamPtr stream = stream_;
  reader_.reset();
  listening_ = false;
  heard_ = true;
  stream->outgoing = channels_wire_;
  stream->write([](const error_code&) {});  // a failure shows in the read
  ping_later();
  while (!closed_) {
    const ReadOutcome read = co_await stream->read_some(asio::buffer(read_buffer_));
    if (read.error || closed_ || !understood({read_buffer_.data(), read.bytes})) break;
  }
  ping_timer_.cancel();
  stream->close();
  stream_.reset();
}

bool Subscription::understood(std::string_view bytes) {
  heard_ = true;
  reader_.feed(bytes);
  Parsed reply;
  while (!closed_) {
    const Result<bool> whole = reader_.next(reply);
    if (!whole) return false;
    if (!*whole) return true;
    if (!reply) {
      refused(reply.error());
      return false;
    }
    take(*reply);
  }
  return true;
}

void Subscription::take(const Reply& reply) {
  const auto* items = reply.items();
  const std::string* kind = items != nullptr && !items->empty() ? items->front().text() : nullptr;
  if (kind == nullptr) return;
  if (*kind == "subscribe" && !std::exchange(listening_, true) && handlers_.on_listening) {
    return handlers_.on_listening();
  }
  if (*kind != "message" || items->size() != 3) return;
  const std::string *channel = (*items)[1].text(), *message = (*items)[2].text();
  if (channel != nullptr && message != nullptr) handlers_.on_message(*channel, *message);
}

// Not LOADING and the like, which pass.
void Subscription::refused(std::string_view text) {
  const Failure failure = classify(text, node_);
  if (failure.kind != FailureKind::refused) return;
  refused_ = true;
  if (handlers_.on_refused) handlers_.on_refused(failure.error);
}

void Subscription::ping_later() {
  ping_timer_.expires_after(kSubscriberPingEvery);
  ping_timer_.async_wait([weak = weak_from_this(), stream = stream_](const error_code& ec) {
    const auto self = weak.lock();
    if (ec || !self || self->stream_ != stream) return;
    // Silence also means that the write before is not through: never two at once.
    if (!std::exchange(self->heard_, false)) return stream->close();
    stream->outgoing = kPing;
    stream->write([](const error_code&) {});
    self->ping_later();
  });
}

}  // namespace dripgate::redis
